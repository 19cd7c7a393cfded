{{/* Values that pass the schema and can't work together. Each problem names a value; all are reported at once. */}}
{{- define "trident.check" -}}
{{- $problems := concat
      (include "trident.checkShape" . | fromYamlArray)
      (include "trident.checkConfig" . | fromYamlArray)
      (include "trident.checkSecrets" . | fromYamlArray)
      (include "trident.checkTimes" . | fromYamlArray)
      (include "trident.checkResources" . | fromYamlArray)
      (include "trident.checkScaling" . | fromYamlArray)
      (include "trident.checkMetrics" . | fromYamlArray) -}}
{{- if $problems -}}
{{- printf "these values can't work:\n- %s" (join "\n- " $problems) | fail -}}
{{- end -}}
{{- end -}}

{{- define "trident.checkShape" -}}
{{- $p := list -}}
{{- $v := .Values -}}
{{- if not $v.image.repository -}}
{{- $p = append $p "image.repository: is required; build the image from deploy/container" -}}
{{- end -}}
{{- $sources := list -}}
{{- range list "persistentVolumeClaim" "image" "locations" -}}
{{- if get $v.modelRepository . -}}
{{- $sources = append $sources (printf "modelRepository.%s" .) -}}
{{- end -}}
{{- end -}}
{{- if include "trident.inProcess" . -}}
{{- if ne (len $sources) 1 -}}
{{- $p = append $p (printf "modelRepository: needs one of persistentVolumeClaim, image and locations, and has %d" (len $sources)) -}}
{{- end -}}
{{- if and $v.modelRepository.subPath $v.modelRepository.locations -}}
{{- $p = append $p "modelRepository.subPath: has no effect on modelRepository.locations" -}}
{{- end -}}
{{- if $v.tritonEndpoints -}}
{{- $p = append $p "tritonEndpoints: is for the mode frontend" -}}
{{- end -}}
{{- else -}}
{{- range $sources -}}
{{- $p = append $p (printf "%s: is for the mode inProcess" .) -}}
{{- end -}}
{{- if not $v.tritonEndpoints -}}
{{- $p = append $p "tritonEndpoints: is required in the mode frontend, such as dns:///NAME:8001 of a headless service" -}}
{{- end -}}
{{- end -}}
{{- $names := dict -}}
{{- range $name, $port := $v.ports -}}
{{- $key := toString $port -}}
{{- if hasKey $names $key -}}
{{- $p = append $p (printf "ports.%s: is %s, as ports.%s" $name $key (get $names $key)) -}}
{{- end -}}
{{- $_ := set $names $key $name -}}
{{- end -}}
{{- $allowed := list "configMap" "csi" "downwardAPI" "emptyDir" "ephemeral" "image" "persistentVolumeClaim" "projected" "secret" -}}
{{- range $volume := $v.extraVolumes -}}
{{- range $type, $_ := omit $volume "name" -}}
{{- if not (has $type $allowed) -}}
{{- $p = append $p (printf "extraVolumes: %s has the type %s, which the Pod Security Standard restricted refuses" $volume.name $type) -}}
{{- end -}}
{{- end -}}
{{- if or (has .name (list "settings" "tmp" "home" "shm" "models")) (hasPrefix "secret-" .name) -}}
{{- $p = append $p (printf "extraVolumes: the chart has a volume %s itself" .name) -}}
{{- end -}}
{{- end -}}
{{- if and (not $v.networkPolicy.egress.enabled) $v.networkPolicy.egress.rules -}}
{{- $p = append $p "networkPolicy.egress.rules: have no effect without networkPolicy.egress.enabled" -}}
{{- end -}}
{{- if and $v.networkPolicy.egress.enabled (not $v.networkPolicy.egress.rules) -}}
{{- $needs := list -}}
{{- if $v.responsesStore.secretName -}}
{{- $needs = append $needs "responsesStore.secretName" -}}
{{- end -}}
{{- if $v.limitsStore.secretName -}}
{{- $needs = append $needs "limitsStore.secretName" -}}
{{- end -}}
{{- if $v.modelRepository.locations -}}
{{- $needs = append $needs "modelRepository.locations" -}}
{{- end -}}
{{- if $needs -}}
{{- $p = append $p (printf "networkPolicy.egress.rules: are required with networkPolicy.egress.enabled for the connections of %s" (join " and " $needs)) -}}
{{- end -}}
{{- end -}}
{{- if and $v.networkPolicy.egress.enabled (not $v.networkPolicy.enabled) -}}
{{- $p = append $p "networkPolicy.egress.enabled: has no effect without networkPolicy.enabled" -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}

{{- define "trident.checkConfig" -}}
{{- $p := list -}}
{{- $owned := include "trident.owned" . | fromYaml -}}
{{- $secret := include "trident.secret" . | fromYaml -}}
{{- range $key, $_ := .Values.config -}}
{{- if hasKey $owned $key -}}
{{- $p = append $p (printf "config.%s: set %s instead" $key (get $owned $key)) -}}
{{- else if hasKey $secret $key -}}
{{- $p = append $p (printf "config.%s: the ConfigMap would show the secret; set %s instead" $key (get $secret $key)) -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- $key := regexReplaceAll "^TRIDENT_" .name "" | lower | replace "_" "-" -}}
{{- if and (hasPrefix "TRIDENT_" .name) (or (hasKey $owned $key) (eq $key "config")) -}}
{{- $p = append $p (printf "extraEnv: %s would override the chart; set %s instead" .name (default "config" (get $owned $key))) -}}
{{- end -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}

{{- define "trident.checkSecrets" -}}
{{- $p := list -}}
{{- $tls := .Values.tls -}}
{{- if and $tls.clientCASecretName (not $tls.secretName) -}}
{{- $p = append $p "tls.clientCASecretName: needs tls.secretName" -}}
{{- end -}}
{{- if and $tls.clientCASecretName (not $tls.probeSecretName) -}}
{{- $p = append $p "tls.probeSecretName: is required with tls.clientCASecretName, because probes need a client certificate then" -}}
{{- end -}}
{{- if and $tls.probeSecretName (not $tls.clientCASecretName) -}}
{{- $p = append $p "tls.probeSecretName: has no effect without tls.clientCASecretName" -}}
{{- end -}}
{{- if or .Values.tritonTLS.caSecretName .Values.tritonTLS.clientSecretName -}}
{{- $name := ternary "tritonTLS.caSecretName" "tritonTLS.clientSecretName" (ne .Values.tritonTLS.caSecretName "") -}}
{{- if include "trident.inProcess" . -}}
{{- $p = append $p (printf "%s: is for the mode frontend" $name) -}}
{{- end -}}
{{- range .Values.tritonEndpoints -}}
{{- if not (regexMatch "^(https|dns\\+https)://" .) -}}
{{- $p = append $p (printf "%s: the endpoint %s has no TLS; use the scheme https:// or dns+https://" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}

{{- define "trident.checkTimes" -}}
{{- $p := list -}}
{{- $v := .Values -}}
{{- $stop := include "trident.stopSeconds" . | int64 -}}
{{- $grace := include "trident.graceSeconds" . | int64 -}}
{{- if lt $grace $stop -}}
{{- $triton := "" -}}
{{- if include "trident.inProcess" . -}}
{{- $triton = printf ", and %d for in-process Triton (3 times exitTimeoutSeconds, and 9)" (add (mul 3 $v.exitTimeoutSeconds) 9) -}}
{{- end -}}
{{- $p = append $p (printf "terminationGracePeriodSeconds: is %d, and a stop takes up to %d: drainDelaySeconds %d, shutdownTimeoutSeconds %d, Trident's reserve of 10%s" $grace $stop (int64 $v.drainDelaySeconds) (int64 $v.shutdownTimeoutSeconds) $triton) -}}
{{- end -}}
{{- $fails := include "trident.readinessSeconds" . | int64 -}}
{{- if lt (int64 $v.drainDelaySeconds) $fails -}}
{{- $p = append $p (printf "drainDelaySeconds: is %d, and the readiness probe fails after up to %d: probes.readiness has periodSeconds times failureThreshold, and timeoutSeconds" (int64 $v.drainDelaySeconds) $fails) -}}
{{- end -}}
{{- if include "trident.inProcess" . -}}
{{- $load := include "trident.seconds" (default "30m" (get $v.config "model-load-timeout")) | float64 -}}
{{- if lt (float64 $v.startupSeconds) $load -}}
{{- $p = append $p (printf "startupSeconds: is %d, less than config.model-load-timeout, %.0f s: the kubelet would end Trident before a load fails" (int64 $v.startupSeconds) $load) -}}
{{- end -}}
{{- end -}}
{{- range $name, $probe := pick $v.probes "readiness" "liveness" -}}
{{- if gt (int64 $probe.timeoutSeconds) (int64 $probe.periodSeconds) -}}
{{- $p = append $p (printf "probes.%s.timeoutSeconds: is %d, more than its periodSeconds %d" $name (int64 $probe.timeoutSeconds) (int64 $probe.periodSeconds)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}

{{- define "trident.checkResources" -}}
{{- $p := list -}}
{{- $limit := dig "limits" "memory" "" .Values.resources -}}
{{- $bytes := include "trident.bytes" $limit | float64 -}}
{{- if and $limit (not $bytes) -}}
{{- $p = append $p (printf "resources.limits.memory: %v isn't a size, such as 64Gi" $limit) -}}
{{- else if $limit -}}
{{- if and (include "trident.inProcess" .) (ge (include "trident.bytes" .Values.sharedMemory.size | float64) $bytes) -}}
{{- $p = append $p (printf "sharedMemory.size: is %v, and resources.limits.memory %v, which includes it" .Values.sharedMemory.size $limit) -}}
{{- end -}}
{{- $own := get .Values.config "memory-limit" -}}
{{- if and $own (gt (include "trident.bytes" $own | float64) $bytes) -}}
{{- $p = append $p (printf "config.memory-limit: is %v, more than resources.limits.memory %v" $own $limit) -}}
{{- end -}}
{{- $request := dig "requests" "memory" "" .Values.resources -}}
{{- if and $request (gt (include "trident.bytes" $request | float64) $bytes) -}}
{{- $p = append $p (printf "resources.requests.memory: is %v, more than resources.limits.memory %v" $request $limit) -}}
{{- end -}}
{{- end -}}
{{- if and (not (include "trident.inProcess" .)) (dig "limits" "nvidia.com/gpu" "" .Values.resources) -}}
{{- $p = append $p "resources.limits: a pod of the mode frontend uses no nvidia.com/gpu" -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}

{{- define "trident.checkScaling" -}}
{{- $p := list -}}
{{- $v := .Values -}}
{{- $a := $v.autoscaling -}}
{{- if $a.enabled -}}
{{- if gt (int64 $a.minReplicas) (int64 $a.maxReplicas) -}}
{{- $p = append $p (printf "autoscaling.minReplicas: is %d, more than autoscaling.maxReplicas %d" (int64 $a.minReplicas) (int64 $a.maxReplicas)) -}}
{{- end -}}
{{- if not (or $a.targetQueued $a.targetInFlight $a.targetCPUUtilizationPercentage) -}}
{{- $p = append $p "autoscaling: needs one of targetQueued, targetInFlight and targetCPUUtilizationPercentage" -}}
{{- end -}}
{{- $slots := int64 (default 1024 (get $v.config "max-in-flight")) -}}
{{- $queue := int64 (ternary (get $v.config "max-queued") 1024 (hasKey $v.config "max-queued")) -}}
{{- $unlimited := and (hasKey $v.config "max-in-flight") (eq (int64 (get $v.config "max-in-flight")) 0) -}}
{{- range $name := list "targetQueued" "targetInFlight" -}}
{{- $target := get $a $name -}}
{{- if and $target (not $unlimited) (gt (int64 $target) (add $slots $queue)) -}}
{{- $p = append $p (printf "autoscaling.%s: is %d, more than the %d requests that a pod accepts (config.max-in-flight and config.max-queued)" $name (int64 $target) (add $slots $queue)) -}}
{{- end -}}
{{- end -}}
{{- if and $a.targetCPUUtilizationPercentage (not (dig "requests" "cpu" "" $v.resources)) (not (dig "limits" "cpu" "" $v.resources)) -}}
{{- $p = append $p "autoscaling.targetCPUUtilizationPercentage: needs resources.requests.cpu" -}}
{{- end -}}
{{- end -}}
{{- $u := $v.updateStrategy -}}
{{- if and (regexMatch "^0%?$" (toString $u.maxSurge)) (regexMatch "^0%?$" (toString $u.maxUnavailable)) -}}
{{- $p = append $p "updateStrategy: maxSurge and maxUnavailable are both 0, so that no update could start" -}}
{{- end -}}
{{- $b := $v.podDisruptionBudget -}}
{{- if $b.enabled -}}
{{- $least := include "trident.leastReplicas" . | int64 -}}
{{- $hasMin := not (kindIs "invalid" $b.minAvailable) -}}
{{- $hasMax := not (kindIs "invalid" $b.maxUnavailable) -}}
{{- if and $hasMin $hasMax -}}
{{- $p = append $p "podDisruptionBudget: has minAvailable and maxUnavailable, and Kubernetes takes one of them" -}}
{{- else if not $hasMin -}}
{{- if regexMatch "^0%?$" (toString $b.maxUnavailable) -}}
{{- $p = append $p "podDisruptionBudget.maxUnavailable: is 0, so that no node with a pod could be drained" -}}
{{- end -}}
{{- else -}}
{{- /* Kubernetes rounds a percentage up to whole pods. */ -}}
{{- $min := toString $b.minAvailable -}}
{{- $kept := int64 $b.minAvailable -}}
{{- if hasSuffix "%" $min -}}
{{- $kept = div (add (mul (trimSuffix "%" $min | int64) $least) 99) 100 -}}
{{- end -}}
{{- if and (gt $least 0) (ge $kept $least) -}}
{{- $p = append $p (printf "podDisruptionBudget.minAvailable: is %s of %d pods, which keeps %d, so that no node with a pod could be drained" $min $least $kept) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}

{{- define "trident.checkMetrics" -}}
{{- $p := list -}}
{{- $v := .Values -}}
{{- $off := and (hasKey $v.config "allow-metrics") (not (get $v.config "allow-metrics")) -}}
{{- $m := $v.serviceMonitor -}}
{{- if and $off $m.enabled -}}
{{- $p = append $p "serviceMonitor.enabled: needs the metrics that config.allow-metrics turns off" -}}
{{- end -}}
{{- if and $off $v.autoscaling.enabled (or $v.autoscaling.targetQueued $v.autoscaling.targetInFlight) -}}
{{- $p = append $p "autoscaling.enabled: needs the metrics that config.allow-metrics turns off" -}}
{{- end -}}
{{- if $m.enabled -}}
{{- if gt (include "trident.seconds" $m.scrapeTimeout | float64) (include "trident.seconds" $m.interval | float64) -}}
{{- $p = append $p (printf "serviceMonitor.scrapeTimeout: is %s, more than serviceMonitor.interval %s" $m.scrapeTimeout $m.interval) -}}
{{- end -}}
{{- $pair := or (and $m.tlsConfig.cert $m.tlsConfig.keySecret) (and $m.tlsConfig.certFile $m.tlsConfig.keyFile) -}}
{{- if and $v.tls.clientCASecretName $m.tlsConfig (not $pair) -}}
{{- $p = append $p "serviceMonitor.tlsConfig: needs a client certificate with tls.clientCASecretName: cert and keySecret, or certFile and keyFile" -}}
{{- end -}}
{{- if and $v.tls.secretName (not $m.tlsConfig) -}}
{{- $p = append $p "serviceMonitor.tlsConfig: is required with tls.secretName, because the certificate isn't valid for addresses of pods" -}}
{{- end -}}
{{- end -}}
{{- toYaml $p -}}
{{- end -}}
