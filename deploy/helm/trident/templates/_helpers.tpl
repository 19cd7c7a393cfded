{{/* Names and labels */}}

{{- define "trident.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "trident.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "trident.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "trident.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "trident.selectorLabels" -}}
app.kubernetes.io/name: {{ include "trident.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "trident.labels" -}}
{{ include "trident.selectorLabels" . }}
app.kubernetes.io/component: {{ ternary "server" "frontend" (eq .Values.mode "inProcess") }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "trident.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "trident.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The images: deploy/container has their users and programs. */}}

{{- define "trident.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "trident.program" -}}
{{- ternary "/usr/local/bin/trident" "/trident" (eq .Values.mode "inProcess") -}}
{{- end -}}

{{- define "trident.user" -}}
{{- default (ternary 1000 65532 (eq .Values.mode "inProcess")) .Values.security.runAsUser | int64 -}}
{{- end -}}

{{- define "trident.fsGroup" -}}
{{- default (include "trident.user" .) .Values.security.fsGroup | int64 -}}
{{- end -}}

{{/* Whether the pods run Triton; a non-empty string means true. */}}
{{- define "trident.inProcess" -}}
{{- if eq .Values.mode "inProcess" }}true{{ end -}}
{{- end -}}

{{/* Seconds of a duration of Go, such as 1m30s. */}}
{{- define "trident.seconds" -}}
{{- $units := dict "ns" 0.000000001 "us" 0.000001 "µs" 0.000001 "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h)" (toString .) -1 -}}
{{- $sum = addf $sum (mulf (regexFind "^[0-9.]+" . | float64) (get $units (regexFind "[a-zµ]+$" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{/* Bytes of a quantity of Kubernetes, or of a size of Trident's settings such as 2GiB; empty if it isn't one. */}}
{{- define "trident.bytes" -}}
{{- $text := toString . | trim | trimSuffix "B" -}}
{{- if kindIs "float64" . -}}
{{- $text = printf "%.0f" . -}}
{{- end -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+)?(m|k|K|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$" $text -}}
{{- $units := dict "" 1.0 "m" 0.001 "k" 1e3 "K" 1e3 "Ki" 1024.0 "M" 1e6 "Mi" 1048576.0 "G" 1e9 "Gi" 1073741824.0 "T" 1e12 "Ti" 1099511627776.0 "P" 1e15 "Pi" 1125899906842624.0 -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units (regexFind "[a-zA-Z]*$" $text)) | printf "%.0f" -}}
{{- end -}}
{{- end -}}

{{/* Longest time from SIGTERM to the end of the process: docs/guides/deploy.md has the sum. Trident adds 10 s. In-process Triton
takes three times the exit timeout and 3 s each, for requests, models and the server. */}}
{{- define "trident.stopSeconds" -}}
{{- $sum := add .Values.drainDelaySeconds .Values.shutdownTimeoutSeconds 10 -}}
{{- if include "trident.inProcess" . -}}
{{- $sum = add $sum (mul 3 .Values.exitTimeoutSeconds) 9 -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{- define "trident.graceSeconds" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- include "trident.stopSeconds" . -}}
{{- else -}}
{{- int64 .Values.terminationGracePeriodSeconds -}}
{{- end -}}
{{- end -}}

{{/* Seconds until the readiness probe has failed. */}}
{{- define "trident.readinessSeconds" -}}
{{- with .Values.probes.readiness -}}
{{- add (mul .periodSeconds .failureThreshold) .timeoutSeconds -}}
{{- end -}}
{{- end -}}

{{- define "trident.leastReplicas" -}}
{{- ternary .Values.autoscaling.minReplicas .Values.replicas .Values.autoscaling.enabled -}}
{{- end -}}

{{/* Whether the kubelet can't send the probes itself. */}}
{{- define "trident.execProbes" -}}
{{- if or .Values.probes.exec .Values.tls.clientCASecretName }}true{{ end -}}
{{- end -}}

{{/* The handler of a probe. The dict has root, and probe: live, ready or startup. */}}
{{- define "trident.probe" -}}
{{- $values := .root.Values -}}
{{- if include "trident.execProbes" .root -}}
exec:
  command:
    - {{ include "trident.program" .root }}
    - health
    - {{ .probe }}
    {{- if $values.tls.clientCASecretName }}
    - --cert=/etc/trident/probe/tls.crt
    - --key=/etc/trident/probe/tls.key
    {{- end }}
    - --timeout={{ .timeout }}s
{{- else -}}
httpGet:
  path: /health/{{ .probe }}
  port: http
  {{- if $values.tls.secretName }}
  scheme: HTTPS
  {{- end }}
{{- end -}}
{{- end -}}

{{/* The settings that the chart sets, by the value that they come from. config may not have them. */}}
{{- define "trident.owned" -}}
host: ports
openai-port: ports.http
enable-kserve-frontends: kserve.enabled
kserve-grpc-port: ports.kserveGRPC
kserve-http-port: ports.kserveHTTP
metrics-port: ports.metrics
metrics-address: ports.metrics
model-repository: modelRepository
triton-endpoint: tritonEndpoints
triton-tls-ca: tritonTLS.caSecretName
triton-tls-cert: tritonTLS.clientSecretName
triton-tls-key: tritonTLS.clientSecretName
api-keys-file: apiKeys.secretName
seal-key-file: sealKeys.secretName
responses-store: responsesStore.secretName
limits-store: limitsStore.secretName
tls-cert: tls.secretName
tls-key: tls.secretName
tls-client-ca: tls.clientCASecretName
drain-delay: drainDelaySeconds
shutdown-timeout: shutdownTimeoutSeconds
exit-timeout-secs: exitTimeoutSeconds
{{- end -}}

{{/* The settings that contain secrets, which a ConfigMap would show, by what to set instead. */}}
{{- define "trident.secret" -}}
api-key: apiKeys.secretName
keys: apiKeys.secretName
openai-restricted-api: a variable TRIDENT_OPENAI_RESTRICTED_API from a Secret in extraEnv
http-restricted-api: a variable TRIDENT_HTTP_RESTRICTED_API from a Secret in extraEnv
grpc-restricted-protocol: a variable TRIDENT_GRPC_RESTRICTED_PROTOCOL from a Secret in extraEnv
{{- end -}}

{{/* The settings that Trident takes from a changed file without a restart. */}}
{{- define "trident.reloaded" -}}
- models
- tokenizer
- chat-template
- tool-call-parser
- reasoning-parser
- engine-dir
- history-template
- history-template-file
- alias-split
- max-in-flight
- max-queued
- max-in-flight-per-model
- max-queued-per-model
- requests-per-second
- burst
- max-body-bytes-in-flight
- max-reading
- max-decoding
- request-timeout
- log-level
{{- end -}}

{{/* The settings file. */}}
{{- define "trident.settings" -}}
{{- $s := dict "openai-port" .Values.ports.http "metrics-port" .Values.ports.metrics -}}
{{- $_ := set $s "drain-delay" (printf "%ds" (int64 .Values.drainDelaySeconds)) -}}
{{- $_ := set $s "shutdown-timeout" (printf "%ds" (int64 .Values.shutdownTimeoutSeconds)) -}}
{{- if include "trident.inProcess" . -}}
{{- $_ := set $s "exit-timeout-secs" .Values.exitTimeoutSeconds -}}
{{- else -}}
{{- $_ := set $s "triton-endpoint" .Values.tritonEndpoints -}}
{{- end -}}
{{- if .Values.kserve.enabled -}}
{{- $_ := set $s "enable-kserve-frontends" true -}}
{{- $_ := set $s "kserve-http-port" .Values.ports.kserveHTTP -}}
{{- $_ := set $s "kserve-grpc-port" .Values.ports.kserveGRPC -}}
{{- end -}}
{{- if .Values.apiKeys.secretName -}}
{{- $_ := set $s "api-keys-file" (printf "/etc/trident/api-keys/%s" .Values.apiKeys.key) -}}
{{- end -}}
{{- if .Values.sealKeys.secretName -}}
{{- $_ := set $s "seal-key-file" (printf "/etc/trident/seal-keys/%s" .Values.sealKeys.key) -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $s "tls-cert" "/etc/trident/tls/tls.crt" -}}
{{- $_ := set $s "tls-key" "/etc/trident/tls/tls.key" -}}
{{- end -}}
{{- if .Values.tls.clientCASecretName -}}
{{- $_ := set $s "tls-client-ca" (printf "/etc/trident/client-ca/%s" .Values.tls.clientCAKey) -}}
{{- end -}}
{{- if .Values.tritonTLS.caSecretName -}}
{{- $_ := set $s "triton-tls-ca" (printf "/etc/trident/triton-ca/%s" .Values.tritonTLS.caKey) -}}
{{- end -}}
{{- if .Values.tritonTLS.clientSecretName -}}
{{- $_ := set $s "triton-tls-cert" "/etc/trident/triton-tls/tls.crt" -}}
{{- $_ := set $s "triton-tls-key" "/etc/trident/triton-tls/tls.key" -}}
{{- end -}}
{{- toYaml (merge $s .Values.config) -}}
{{- end -}}

{{/* The same without the settings that take effect without a restart. */}}
{{- define "trident.restartSettings" -}}
{{- $s := include "trident.settings" . | fromYaml -}}
{{- range include "trident.reloaded" . | fromYamlArray -}}
{{- $_ := unset $s . -}}
{{- end -}}
{{- toYaml $s -}}
{{- end -}}

{{/* The Secrets that are mounted as folders of /etc/trident: the folder's name and the Secret's. */}}
{{- define "trident.secretFolders" -}}
{{- with .Values.apiKeys.secretName }}
api-keys: {{ . }}
{{- end }}
{{- with .Values.sealKeys.secretName }}
seal-keys: {{ . }}
{{- end }}
{{- with .Values.tls.secretName }}
tls: {{ . }}
{{- end }}
{{- with .Values.tls.clientCASecretName }}
client-ca: {{ . }}
{{- end }}
{{- with .Values.tls.probeSecretName }}
probe: {{ . }}
{{- end }}
{{- with .Values.tritonTLS.caSecretName }}
triton-ca: {{ . }}
{{- end }}
{{- with .Values.tritonTLS.clientSecretName }}
triton-tls: {{ . }}
{{- end }}
{{- end -}}

{{/* Where in-process Triton finds its models: lines of TRIDENT_MODEL_REPOSITORY. */}}
{{- define "trident.modelRepository" -}}
{{- if .Values.modelRepository.locations -}}
{{- join "\n" .Values.modelRepository.locations -}}
{{- else if and .Values.modelRepository.image .Values.modelRepository.subPath -}}
{{- printf "/models/%s" .Values.modelRepository.subPath -}}
{{- else -}}
/models
{{- end -}}
{{- end -}}

{{/* Ports of tritonEndpoints, one a line. */}}
{{- define "trident.endpointPorts" -}}
{{- $ports := list -}}
{{- range .Values.tritonEndpoints -}}
{{- $ports = append $ports (regexFind "[0-9]+$" (regexReplaceAll "=[0-9.]+$" . "")) -}}
{{- end -}}
{{- $ports | uniq | join "\n" -}}
{{- end -}}
