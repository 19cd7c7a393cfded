// Configuration of a model in Triton, as config.pbtxt spells it in text and
// ModelConfig returns it.
//
// Names, numbers and types are fixed by the servers and clients that already
// speak this protocol: api/testdata holds them as tables and a test compares.
// Comments are free to change; nothing else is.
import { enumDesc, fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file kserve/model_config.proto.
 */
export const file_kserve_model_config = /*@__PURE__*/ fileDesc("Chlrc2VydmUvbW9kZWxfY29uZmlnLnByb3RvEglpbmZlcmVuY2UilgEKEE1vZGVsUmF0ZUxpbWl0ZXISNwoJcmVzb3VyY2VzGAEgAygLMiQuaW5mZXJlbmNlLk1vZGVsUmF0ZUxpbWl0ZXIuUmVzb3VyY2USEAoIcHJpb3JpdHkYAiABKA0aNwoIUmVzb3VyY2USDAoEbmFtZRgBIAEoCRIOCgZnbG9iYWwYAiABKAgSDQoFY291bnQYAyABKA0ihwQKEk1vZGVsSW5zdGFuY2VHcm91cBIMCgRuYW1lGAEgASgJEjAKBGtpbmQYBCABKA4yIi5pbmZlcmVuY2UuTW9kZWxJbnN0YW5jZUdyb3VwLktpbmQSDQoFY291bnQYAiABKAUSMQoMcmF0ZV9saW1pdGVyGAYgASgLMhsuaW5mZXJlbmNlLk1vZGVsUmF0ZUxpbWl0ZXISDAoEZ3B1cxgDIAMoBRJIChFzZWNvbmRhcnlfZGV2aWNlcxgIIAMoCzItLmluZmVyZW5jZS5Nb2RlbEluc3RhbmNlR3JvdXAuU2Vjb25kYXJ5RGV2aWNlEg8KB3Byb2ZpbGUYBSADKAkSDwoHcGFzc2l2ZRgHIAEoCBITCgtob3N0X3BvbGljeRgJIAEoCRqcAQoPU2Vjb25kYXJ5RGV2aWNlEk8KBGtpbmQYASABKA4yQS5pbmZlcmVuY2UuTW9kZWxJbnN0YW5jZUdyb3VwLlNlY29uZGFyeURldmljZS5TZWNvbmRhcnlEZXZpY2VLaW5kEhEKCWRldmljZV9pZBgCIAEoAyIlChNTZWNvbmRhcnlEZXZpY2VLaW5kEg4KCktJTkRfTlZETEEQACJBCgRLaW5kEg0KCUtJTkRfQVVUTxAAEgwKCEtJTkRfR1BVEAESDAoIS0lORF9DUFUQAhIOCgpLSU5EX01PREVMEAMiIwoSTW9kZWxUZW5zb3JSZXNoYXBlEg0KBXNoYXBlGAEgAygDItMCCgpNb2RlbElucHV0EgwKBG5hbWUYASABKAkSJgoJZGF0YV90eXBlGAIgASgOMhMuaW5mZXJlbmNlLkRhdGFUeXBlEiwKBmZvcm1hdBgDIAEoDjIcLmluZmVyZW5jZS5Nb2RlbElucHV0LkZvcm1hdBIMCgRkaW1zGAQgAygDEi4KB3Jlc2hhcGUYBSABKAsyHS5pbmZlcmVuY2UuTW9kZWxUZW5zb3JSZXNoYXBlEhcKD2lzX3NoYXBlX3RlbnNvchgGIAEoCBIaChJhbGxvd19yYWdnZWRfYmF0Y2gYByABKAgSEAoIb3B0aW9uYWwYCCABKAgSHwoXaXNfbm9uX2xpbmVhcl9mb3JtYXRfaW8YCSABKAgiOwoGRm9ybWF0Eg8KC0ZPUk1BVF9OT05FEAASDwoLRk9STUFUX05IV0MQARIPCgtGT1JNQVRfTkNIVxACItMBCgtNb2RlbE91dHB1dBIMCgRuYW1lGAEgASgJEiYKCWRhdGFfdHlwZRgCIAEoDjITLmluZmVyZW5jZS5EYXRhVHlwZRIMCgRkaW1zGAMgAygDEi4KB3Jlc2hhcGUYBSABKAsyHS5pbmZlcmVuY2UuTW9kZWxUZW5zb3JSZXNoYXBlEhYKDmxhYmVsX2ZpbGVuYW1lGAQgASgJEhcKD2lzX3NoYXBlX3RlbnNvchgGIAEoCBIfChdpc19ub25fbGluZWFyX2Zvcm1hdF9pbxgHIAEoCCLZAgoKQmF0Y2hJbnB1dBIoCgRraW5kGAEgASgOMhouaW5mZXJlbmNlLkJhdGNoSW5wdXQuS2luZBITCgt0YXJnZXRfbmFtZRgCIAMoCRImCglkYXRhX3R5cGUYAyABKA4yEy5pbmZlcmVuY2UuRGF0YVR5cGUSFAoMc291cmNlX2lucHV0GAQgAygJIs0BCgRLaW5kEhcKE0JBVENIX0VMRU1FTlRfQ09VTlQQABIjCh9CQVRDSF9BQ0NVTVVMQVRFRF9FTEVNRU5UX0NPVU5UEAESLQopQkFUQ0hfQUNDVU1VTEFURURfRUxFTUVOVF9DT1VOVF9XSVRIX1pFUk8QAhIkCiBCQVRDSF9NQVhfRUxFTUVOVF9DT1VOVF9BU19TSEFQRRADEhQKEEJBVENIX0lURU1fU0hBUEUQBBIcChhCQVRDSF9JVEVNX1NIQVBFX0ZMQVRURU4QBSKPAQoLQmF0Y2hPdXRwdXQSEwoLdGFyZ2V0X25hbWUYASADKAkSKQoEa2luZBgCIAEoDjIbLmluZmVyZW5jZS5CYXRjaE91dHB1dC5LaW5kEhQKDHNvdXJjZV9pbnB1dBgDIAMoCSIqCgRLaW5kEiIKHkJBVENIX1NDQVRURVJfV0lUSF9JTlBVVF9TSEFQRRAAIpACChJNb2RlbFZlcnNpb25Qb2xpY3kSNgoGbGF0ZXN0GAEgASgLMiQuaW5mZXJlbmNlLk1vZGVsVmVyc2lvblBvbGljeS5MYXRlc3RIABIwCgNhbGwYAiABKAsyIS5pbmZlcmVuY2UuTW9kZWxWZXJzaW9uUG9saWN5LkFsbEgAEjoKCHNwZWNpZmljGAMgASgLMiYuaW5mZXJlbmNlLk1vZGVsVmVyc2lvblBvbGljeS5TcGVjaWZpY0gAGh4KBkxhdGVzdBIUCgxudW1fdmVyc2lvbnMYASABKA0aBQoDQWxsGhwKCFNwZWNpZmljEhAKCHZlcnNpb25zGAEgAygDQg8KDXBvbGljeV9jaG9pY2Ui/Q0KF01vZGVsT3B0aW1pemF0aW9uUG9saWN5EjcKBWdyYXBoGAEgASgLMiguaW5mZXJlbmNlLk1vZGVsT3B0aW1pemF0aW9uUG9saWN5LkdyYXBoEkIKCHByaW9yaXR5GAIgASgOMjAuaW5mZXJlbmNlLk1vZGVsT3B0aW1pemF0aW9uUG9saWN5Lk1vZGVsUHJpb3JpdHkSNQoEY3VkYRgDIAEoCzInLmluZmVyZW5jZS5Nb2RlbE9wdGltaXphdGlvblBvbGljeS5DdWRhElgKFmV4ZWN1dGlvbl9hY2NlbGVyYXRvcnMYBCABKAsyOC5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuRXhlY3V0aW9uQWNjZWxlcmF0b3JzElIKE2lucHV0X3Bpbm5lZF9tZW1vcnkYBSABKAsyNS5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuUGlubmVkTWVtb3J5QnVmZmVyElMKFG91dHB1dF9waW5uZWRfbWVtb3J5GAYgASgLMjUuaW5mZXJlbmNlLk1vZGVsT3B0aW1pemF0aW9uUG9saWN5LlBpbm5lZE1lbW9yeUJ1ZmZlchImCh5nYXRoZXJfa2VybmVsX2J1ZmZlcl90aHJlc2hvbGQYByABKA0SFgoOZWFnZXJfYmF0Y2hpbmcYCCABKAgaFgoFR3JhcGgSDQoFbGV2ZWwYASABKAUaugUKBEN1ZGESDgoGZ3JhcGhzGAEgASgIEhgKEGJ1c3lfd2FpdF9ldmVudHMYAiABKAgSRQoKZ3JhcGhfc3BlYxgDIAMoCzIxLmluZmVyZW5jZS5Nb2RlbE9wdGltaXphdGlvblBvbGljeS5DdWRhLkdyYXBoU3BlYxIaChJvdXRwdXRfY29weV9zdHJlYW0YBCABKAgapAQKCUdyYXBoU3BlYxISCgpiYXRjaF9zaXplGAEgASgFEksKBWlucHV0GAIgAygLMjwuaW5mZXJlbmNlLk1vZGVsT3B0aW1pemF0aW9uUG9saWN5LkN1ZGEuR3JhcGhTcGVjLklucHV0RW50cnkSVwoRZ3JhcGhfbG93ZXJfYm91bmQYAyABKAsyPC5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuQ3VkYS5HcmFwaFNwZWMuTG93ZXJCb3VuZBoUCgVTaGFwZRILCgNkaW0YASADKAMa3wEKCkxvd2VyQm91bmQSEgoKYmF0Y2hfc2l6ZRgBIAEoBRJWCgVpbnB1dBgCIAMoCzJHLmluZmVyZW5jZS5Nb2RlbE9wdGltaXphdGlvblBvbGljeS5DdWRhLkdyYXBoU3BlYy5Mb3dlckJvdW5kLklucHV0RW50cnkaZQoKSW5wdXRFbnRyeRILCgNrZXkYASABKAkSRgoFdmFsdWUYAiABKAsyNy5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuQ3VkYS5HcmFwaFNwZWMuU2hhcGU6AjgBGmUKCklucHV0RW50cnkSCwoDa2V5GAEgASgJEkYKBXZhbHVlGAIgASgLMjcuaW5mZXJlbmNlLk1vZGVsT3B0aW1pemF0aW9uUG9saWN5LkN1ZGEuR3JhcGhTcGVjLlNoYXBlOgI4ARqkAwoVRXhlY3V0aW9uQWNjZWxlcmF0b3JzEmcKGWdwdV9leGVjdXRpb25fYWNjZWxlcmF0b3IYASADKAsyRC5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuRXhlY3V0aW9uQWNjZWxlcmF0b3JzLkFjY2VsZXJhdG9yEmcKGWNwdV9leGVjdXRpb25fYWNjZWxlcmF0b3IYAiADKAsyRC5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuRXhlY3V0aW9uQWNjZWxlcmF0b3JzLkFjY2VsZXJhdG9yGrgBCgtBY2NlbGVyYXRvchIMCgRuYW1lGAEgASgJEmgKCnBhcmFtZXRlcnMYAiADKAsyVC5pbmZlcmVuY2UuTW9kZWxPcHRpbWl6YXRpb25Qb2xpY3kuRXhlY3V0aW9uQWNjZWxlcmF0b3JzLkFjY2VsZXJhdG9yLlBhcmFtZXRlcnNFbnRyeRoxCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ARokChJQaW5uZWRNZW1vcnlCdWZmZXISDgoGZW5hYmxlGAEgASgIIkkKDU1vZGVsUHJpb3JpdHkSFAoQUFJJT1JJVFlfREVGQVVMVBAAEhAKDFBSSU9SSVRZX01BWBABEhAKDFBSSU9SSVRZX01JThACItsBChBNb2RlbFF1ZXVlUG9saWN5EkEKDnRpbWVvdXRfYWN0aW9uGAEgASgOMikuaW5mZXJlbmNlLk1vZGVsUXVldWVQb2xpY3kuVGltZW91dEFjdGlvbhIkChxkZWZhdWx0X3RpbWVvdXRfbWljcm9zZWNvbmRzGAIgASgEEh4KFmFsbG93X3RpbWVvdXRfb3ZlcnJpZGUYAyABKAgSFgoObWF4X3F1ZXVlX3NpemUYBCABKA0iJgoNVGltZW91dEFjdGlvbhIKCgZSRUpFQ1QQABIJCgVERUxBWRABIpsDChRNb2RlbER5bmFtaWNCYXRjaGluZxIcChRwcmVmZXJyZWRfYmF0Y2hfc2l6ZRgBIAMoBRIkChxtYXhfcXVldWVfZGVsYXlfbWljcm9zZWNvbmRzGAIgASgEEhkKEXByZXNlcnZlX29yZGVyaW5nGAMgASgIEhcKD3ByaW9yaXR5X2xldmVscxgEIAEoBBIeChZkZWZhdWx0X3ByaW9yaXR5X2xldmVsGAUgASgEEjkKFGRlZmF1bHRfcXVldWVfcG9saWN5GAYgASgLMhsuaW5mZXJlbmNlLk1vZGVsUXVldWVQb2xpY3kSVwoVcHJpb3JpdHlfcXVldWVfcG9saWN5GAcgAygLMjguaW5mZXJlbmNlLk1vZGVsRHluYW1pY0JhdGNoaW5nLlByaW9yaXR5UXVldWVQb2xpY3lFbnRyeRpXChhQcmlvcml0eVF1ZXVlUG9saWN5RW50cnkSCwoDa2V5GAEgASgEEioKBXZhbHVlGAIgASgLMhsuaW5mZXJlbmNlLk1vZGVsUXVldWVQb2xpY3k6AjgBIu4KChVNb2RlbFNlcXVlbmNlQmF0Y2hpbmcSQQoGZGlyZWN0GAMgASgLMi8uaW5mZXJlbmNlLk1vZGVsU2VxdWVuY2VCYXRjaGluZy5TdHJhdGVneURpcmVjdEgAEkEKBm9sZGVzdBgEIAEoCzIvLmluZmVyZW5jZS5Nb2RlbFNlcXVlbmNlQmF0Y2hpbmcuU3RyYXRlZ3lPbGRlc3RIABImCh5tYXhfc2VxdWVuY2VfaWRsZV9taWNyb3NlY29uZHMYASABKAQSRAoNY29udHJvbF9pbnB1dBgCIAMoCzItLmluZmVyZW5jZS5Nb2RlbFNlcXVlbmNlQmF0Y2hpbmcuQ29udHJvbElucHV0EjUKBXN0YXRlGAUgAygLMiYuaW5mZXJlbmNlLk1vZGVsU2VxdWVuY2VCYXRjaGluZy5TdGF0ZRIaChJpdGVyYXRpdmVfc2VxdWVuY2UYBiABKAgasQIKB0NvbnRyb2wSOwoEa2luZBgBIAEoDjItLmluZmVyZW5jZS5Nb2RlbFNlcXVlbmNlQmF0Y2hpbmcuQ29udHJvbC5LaW5kEhgKEGludDMyX2ZhbHNlX3RydWUYAiADKAUSFwoPZnAzMl9mYWxzZV90cnVlGAMgAygCEhcKD2Jvb2xfZmFsc2VfdHJ1ZRgFIAMoCBImCglkYXRhX3R5cGUYBCABKA4yEy5pbmZlcmVuY2UuRGF0YVR5cGUidQoES2luZBIaChZDT05UUk9MX1NFUVVFTkNFX1NUQVJUEAASGgoWQ09OVFJPTF9TRVFVRU5DRV9SRUFEWRABEhgKFENPTlRST0xfU0VRVUVOQ0VfRU5EEAISGwoXQ09OVFJPTF9TRVFVRU5DRV9DT1JSSUQQAxpXCgxDb250cm9sSW5wdXQSDAoEbmFtZRgBIAEoCRI5Cgdjb250cm9sGAIgAygLMiguaW5mZXJlbmNlLk1vZGVsU2VxdWVuY2VCYXRjaGluZy5Db250cm9sGooBCgxJbml0aWFsU3RhdGUSJgoJZGF0YV90eXBlGAEgASgOMhMuaW5mZXJlbmNlLkRhdGFUeXBlEgwKBGRpbXMYAiADKAMSEwoJemVyb19kYXRhGAMgASgISAASEwoJZGF0YV9maWxlGAQgASgJSAASDAoEbmFtZRgFIAEoCUIMCgpzdGF0ZV9kYXRhGvMBCgVTdGF0ZRISCgppbnB1dF9uYW1lGAEgASgJEhMKC291dHB1dF9uYW1lGAIgASgJEiYKCWRhdGFfdHlwZRgDIAEoDjITLmluZmVyZW5jZS5EYXRhVHlwZRIMCgRkaW1zGAQgAygDEkQKDWluaXRpYWxfc3RhdGUYBSADKAsyLS5pbmZlcmVuY2UuTW9kZWxTZXF1ZW5jZUJhdGNoaW5nLkluaXRpYWxTdGF0ZRIoCiB1c2Vfc2FtZV9idWZmZXJfZm9yX2lucHV0X291dHB1dBgGIAEoCBIbChN1c2VfZ3Jvd2FibGVfbWVtb3J5GAcgASgIGlgKDlN0cmF0ZWd5RGlyZWN0EiQKHG1heF9xdWV1ZV9kZWxheV9taWNyb3NlY29uZHMYASABKAQSIAoYbWluaW11bV9zbG90X3V0aWxpemF0aW9uGAIgASgCGpABCg5TdHJhdGVneU9sZGVzdBIfChdtYXhfY2FuZGlkYXRlX3NlcXVlbmNlcxgBIAEoBRIcChRwcmVmZXJyZWRfYmF0Y2hfc2l6ZRgCIAMoBRIkChxtYXhfcXVldWVfZGVsYXlfbWljcm9zZWNvbmRzGAMgASgEEhkKEXByZXNlcnZlX29yZGVyaW5nGAQgASgIQhEKD3N0cmF0ZWd5X2Nob2ljZSKVAwoPTW9kZWxFbnNlbWJsaW5nEi0KBHN0ZXAYASADKAsyHy5pbmZlcmVuY2UuTW9kZWxFbnNlbWJsaW5nLlN0ZXASHQoVbWF4X2luZmxpZ2h0X3JlcXVlc3RzGAIgASgNGrMCCgRTdGVwEhIKCm1vZGVsX25hbWUYASABKAkSFQoNbW9kZWxfdmVyc2lvbhgCIAEoAxJACglpbnB1dF9tYXAYAyADKAsyLS5pbmZlcmVuY2UuTW9kZWxFbnNlbWJsaW5nLlN0ZXAuSW5wdXRNYXBFbnRyeRJCCgpvdXRwdXRfbWFwGAQgAygLMi4uaW5mZXJlbmNlLk1vZGVsRW5zZW1ibGluZy5TdGVwLk91dHB1dE1hcEVudHJ5EhcKD21vZGVsX25hbWVzcGFjZRgFIAEoCRovCg1JbnB1dE1hcEVudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAEaMAoOT3V0cHV0TWFwRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASImCg5Nb2RlbFBhcmFtZXRlchIUCgxzdHJpbmdfdmFsdWUYASABKAki2QIKC01vZGVsV2FybXVwEgwKBG5hbWUYASABKAkSEgoKYmF0Y2hfc2l6ZRgCIAEoDRIyCgZpbnB1dHMYAyADKAsyIi5pbmZlcmVuY2UuTW9kZWxXYXJtdXAuSW5wdXRzRW50cnkSDQoFY291bnQYBCABKA0alwEKBUlucHV0EiYKCWRhdGFfdHlwZRgBIAEoDjITLmluZmVyZW5jZS5EYXRhVHlwZRIMCgRkaW1zGAIgAygDEhMKCXplcm9fZGF0YRgDIAEoCEgAEhUKC3JhbmRvbV9kYXRhGAQgASgISAASGQoPaW5wdXRfZGF0YV9maWxlGAUgASgJSABCEQoPaW5wdXRfZGF0YV90eXBlGksKC0lucHV0c0VudHJ5EgsKA2tleRgBIAEoCRIrCgV2YWx1ZRgCIAEoCzIcLmluZmVyZW5jZS5Nb2RlbFdhcm11cC5JbnB1dDoCOAEiLgoPTW9kZWxPcGVyYXRpb25zEhsKE29wX2xpYnJhcnlfZmlsZW5hbWUYASADKAkiKwoWTW9kZWxUcmFuc2FjdGlvblBvbGljeRIRCglkZWNvdXBsZWQYASABKAgi5gEKFU1vZGVsUmVwb3NpdG9yeUFnZW50cxI2CgZhZ2VudHMYASADKAsyJi5pbmZlcmVuY2UuTW9kZWxSZXBvc2l0b3J5QWdlbnRzLkFnZW50GpQBCgVBZ2VudBIMCgRuYW1lGAEgASgJEkoKCnBhcmFtZXRlcnMYAiADKAsyNi5pbmZlcmVuY2UuTW9kZWxSZXBvc2l0b3J5QWdlbnRzLkFnZW50LlBhcmFtZXRlcnNFbnRyeRoxCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASIkChJNb2RlbFJlc3BvbnNlQ2FjaGUSDgoGZW5hYmxlGAEgASgIIuICCgxNb2RlbE1ldHJpY3MSPQoObWV0cmljX2NvbnRyb2wYASADKAsyJS5pbmZlcmVuY2UuTW9kZWxNZXRyaWNzLk1ldHJpY0NvbnRyb2wakgIKDU1ldHJpY0NvbnRyb2wSUQoRbWV0cmljX2lkZW50aWZpZXIYASABKAsyNi5pbmZlcmVuY2UuTW9kZWxNZXRyaWNzLk1ldHJpY0NvbnRyb2wuTWV0cmljSWRlbnRpZmllchJTChFoaXN0b2dyYW1fb3B0aW9ucxgCIAEoCzI2LmluZmVyZW5jZS5Nb2RlbE1ldHJpY3MuTWV0cmljQ29udHJvbC5IaXN0b2dyYW1PcHRpb25zSAAaIgoQTWV0cmljSWRlbnRpZmllchIOCgZmYW1pbHkYASABKAkaIwoQSGlzdG9ncmFtT3B0aW9ucxIPCgdidWNrZXRzGAEgAygBQhAKDm1ldHJpY19vcHRpb25zIvMKCgtNb2RlbENvbmZpZxIMCgRuYW1lGAEgASgJEhAKCHBsYXRmb3JtGAIgASgJEg8KB2JhY2tlbmQYESABKAkSDwoHcnVudGltZRgZIAEoCRI1Cg52ZXJzaW9uX3BvbGljeRgDIAEoCzIdLmluZmVyZW5jZS5Nb2RlbFZlcnNpb25Qb2xpY3kSFgoObWF4X2JhdGNoX3NpemUYBCABKAUSJAoFaW5wdXQYBSADKAsyFS5pbmZlcmVuY2UuTW9kZWxJbnB1dBImCgZvdXRwdXQYBiADKAsyFi5pbmZlcmVuY2UuTW9kZWxPdXRwdXQSKgoLYmF0Y2hfaW5wdXQYFCADKAsyFS5pbmZlcmVuY2UuQmF0Y2hJbnB1dBIsCgxiYXRjaF9vdXRwdXQYFSADKAsyFi5pbmZlcmVuY2UuQmF0Y2hPdXRwdXQSOAoMb3B0aW1pemF0aW9uGAwgASgLMiIuaW5mZXJlbmNlLk1vZGVsT3B0aW1pemF0aW9uUG9saWN5EjsKEGR5bmFtaWNfYmF0Y2hpbmcYCyABKAsyHy5pbmZlcmVuY2UuTW9kZWxEeW5hbWljQmF0Y2hpbmdIABI9ChFzZXF1ZW5jZV9iYXRjaGluZxgNIAEoCzIgLmluZmVyZW5jZS5Nb2RlbFNlcXVlbmNlQmF0Y2hpbmdIABI5ChNlbnNlbWJsZV9zY2hlZHVsaW5nGA8gASgLMhouaW5mZXJlbmNlLk1vZGVsRW5zZW1ibGluZ0gAEjUKDmluc3RhbmNlX2dyb3VwGAcgAygLMh0uaW5mZXJlbmNlLk1vZGVsSW5zdGFuY2VHcm91cBIeChZkZWZhdWx0X21vZGVsX2ZpbGVuYW1lGAggASgJEkgKEmNjX21vZGVsX2ZpbGVuYW1lcxgJIAMoCzIsLmluZmVyZW5jZS5Nb2RlbENvbmZpZy5DY01vZGVsRmlsZW5hbWVzRW50cnkSOwoLbWV0cmljX3RhZ3MYCiADKAsyJi5pbmZlcmVuY2UuTW9kZWxDb25maWcuTWV0cmljVGFnc0VudHJ5EjoKCnBhcmFtZXRlcnMYDiADKAsyJi5pbmZlcmVuY2UuTW9kZWxDb25maWcuUGFyYW1ldGVyc0VudHJ5EiwKDG1vZGVsX3dhcm11cBgQIAMoCzIWLmluZmVyZW5jZS5Nb2RlbFdhcm11cBI0ChBtb2RlbF9vcGVyYXRpb25zGBIgASgLMhouaW5mZXJlbmNlLk1vZGVsT3BlcmF0aW9ucxJDChhtb2RlbF90cmFuc2FjdGlvbl9wb2xpY3kYEyABKAsyIS5pbmZlcmVuY2UuTW9kZWxUcmFuc2FjdGlvblBvbGljeRJBChdtb2RlbF9yZXBvc2l0b3J5X2FnZW50cxgXIAEoCzIgLmluZmVyZW5jZS5Nb2RlbFJlcG9zaXRvcnlBZ2VudHMSNQoOcmVzcG9uc2VfY2FjaGUYGCABKAsyHS5pbmZlcmVuY2UuTW9kZWxSZXNwb25zZUNhY2hlEi4KDW1vZGVsX21ldHJpY3MYGiABKAsyFy5pbmZlcmVuY2UuTW9kZWxNZXRyaWNzGjcKFUNjTW9kZWxGaWxlbmFtZXNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBGjEKD01ldHJpY1RhZ3NFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuTW9kZWxQYXJhbWV0ZXI6AjgBQhMKEXNjaGVkdWxpbmdfY2hvaWNlKvoBCghEYXRhVHlwZRIQCgxUWVBFX0lOVkFMSUQQABINCglUWVBFX0JPT0wQARIOCgpUWVBFX1VJTlQ4EAISDwoLVFlQRV9VSU5UMTYQAxIPCgtUWVBFX1VJTlQzMhAEEg8KC1RZUEVfVUlOVDY0EAUSDQoJVFlQRV9JTlQ4EAYSDgoKVFlQRV9JTlQxNhAHEg4KClRZUEVfSU5UMzIQCBIOCgpUWVBFX0lOVDY0EAkSDQoJVFlQRV9GUDE2EAoSDQoJVFlQRV9GUDMyEAsSDQoJVFlQRV9GUDY0EAwSDwoLVFlQRV9TVFJJTkcQDRINCglUWVBFX0JGMTYQDkI0WjJnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL2tzZXJ2ZWIGcHJvdG8z");
/**
 * Describes the message inference.ModelRateLimiter.
 * Use `create(ModelRateLimiterSchema)` to create a new message.
 */
export const ModelRateLimiterSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 0);
/**
 * Describes the message inference.ModelRateLimiter.Resource.
 * Use `create(ModelRateLimiter_ResourceSchema)` to create a new message.
 */
export const ModelRateLimiter_ResourceSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 0, 0);
/**
 * Describes the message inference.ModelInstanceGroup.
 * Use `create(ModelInstanceGroupSchema)` to create a new message.
 */
export const ModelInstanceGroupSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 1);
/**
 * Describes the message inference.ModelInstanceGroup.SecondaryDevice.
 * Use `create(ModelInstanceGroup_SecondaryDeviceSchema)` to create a new message.
 */
export const ModelInstanceGroup_SecondaryDeviceSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 1, 0);
/**
 * SecondaryDeviceKind is the type of the accelerator.
 *
 * @generated from enum inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind
 */
export var ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind;
(function (ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind) {
    /**
     * A deep-learning accelerator core of an NVIDIA system on chip.
     *
     * @generated from enum value: KIND_NVDLA = 0;
     */
    ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind[ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind["KIND_NVDLA"] = 0] = "KIND_NVDLA";
})(ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind || (ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind = {}));
/**
 * Describes the enum inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind.
 */
export const ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKindSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 1, 0, 0);
/**
 * Kind is where instances run.
 *
 * @generated from enum inference.ModelInstanceGroup.Kind
 */
export var ModelInstanceGroup_Kind;
(function (ModelInstanceGroup_Kind) {
    /**
     * On GPUs where both the model and the host have them, else on the CPU.
     *
     * @generated from enum value: KIND_AUTO = 0;
     */
    ModelInstanceGroup_Kind[ModelInstanceGroup_Kind["AUTO"] = 0] = "AUTO";
    /**
     * On each of the listed GPUs.
     *
     * @generated from enum value: KIND_GPU = 1;
     */
    ModelInstanceGroup_Kind[ModelInstanceGroup_Kind["GPU"] = 1] = "GPU";
    /**
     * On the CPU.
     *
     * @generated from enum value: KIND_CPU = 2;
     */
    ModelInstanceGroup_Kind[ModelInstanceGroup_Kind["CPU"] = 2] = "CPU";
    /**
     * Where the model or its backend decides; gpus must be empty.
     *
     * @generated from enum value: KIND_MODEL = 3;
     */
    ModelInstanceGroup_Kind[ModelInstanceGroup_Kind["MODEL"] = 3] = "MODEL";
})(ModelInstanceGroup_Kind || (ModelInstanceGroup_Kind = {}));
/**
 * Describes the enum inference.ModelInstanceGroup.Kind.
 */
export const ModelInstanceGroup_KindSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 1, 0);
/**
 * Describes the message inference.ModelTensorReshape.
 * Use `create(ModelTensorReshapeSchema)` to create a new message.
 */
export const ModelTensorReshapeSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 2);
/**
 * Describes the message inference.ModelInput.
 * Use `create(ModelInputSchema)` to create a new message.
 */
export const ModelInputSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 3);
/**
 * Format is the layout of an image tensor. It only informs: data are never
 * transposed for it.
 *
 * @generated from enum inference.ModelInput.Format
 */
export var ModelInput_Format;
(function (ModelInput_Format) {
    /**
     * Not an image, or not said.
     *
     * @generated from enum value: FORMAT_NONE = 0;
     */
    ModelInput_Format[ModelInput_Format["NONE"] = 0] = "NONE";
    /**
     * Height, width, channel.
     *
     * @generated from enum value: FORMAT_NHWC = 1;
     */
    ModelInput_Format[ModelInput_Format["NHWC"] = 1] = "NHWC";
    /**
     * Channel, height, width.
     *
     * @generated from enum value: FORMAT_NCHW = 2;
     */
    ModelInput_Format[ModelInput_Format["NCHW"] = 2] = "NCHW";
})(ModelInput_Format || (ModelInput_Format = {}));
/**
 * Describes the enum inference.ModelInput.Format.
 */
export const ModelInput_FormatSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 3, 0);
/**
 * Describes the message inference.ModelOutput.
 * Use `create(ModelOutputSchema)` to create a new message.
 */
export const ModelOutputSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 4);
/**
 * Describes the message inference.BatchInput.
 * Use `create(BatchInputSchema)` to create a new message.
 */
export const BatchInputSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 5);
/**
 * Kind is what is computed. The examples have two requests whose source
 * input has 3 and 5 elements.
 *
 * @generated from enum inference.BatchInput.Kind
 */
export var BatchInput_Kind;
(function (BatchInput_Kind) {
    /**
     * Element count of each request: [3, 5].
     *
     * @generated from enum value: BATCH_ELEMENT_COUNT = 0;
     */
    BatchInput_Kind[BatchInput_Kind["BATCH_ELEMENT_COUNT"] = 0] = "BATCH_ELEMENT_COUNT";
    /**
     * Running sum of the element counts: [3, 8].
     *
     * @generated from enum value: BATCH_ACCUMULATED_ELEMENT_COUNT = 1;
     */
    BatchInput_Kind[BatchInput_Kind["BATCH_ACCUMULATED_ELEMENT_COUNT"] = 1] = "BATCH_ACCUMULATED_ELEMENT_COUNT";
    /**
     * Running sum with a leading zero: [0, 3, 8].
     *
     * @generated from enum value: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO = 2;
     */
    BatchInput_Kind[BatchInput_Kind["BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"] = 2] = "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO";
    /**
     * A tensor whose size, not content, is the largest count: shape [5].
     *
     * @generated from enum value: BATCH_MAX_ELEMENT_COUNT_AS_SHAPE = 3;
     */
    BatchInput_Kind[BatchInput_Kind["BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"] = 3] = "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE";
    /**
     * Shape of each request's input, one row for each item of the batch.
     *
     * @generated from enum value: BATCH_ITEM_SHAPE = 4;
     */
    BatchInput_Kind[BatchInput_Kind["BATCH_ITEM_SHAPE"] = 4] = "BATCH_ITEM_SHAPE";
    /**
     * The same rows in one flat list.
     *
     * @generated from enum value: BATCH_ITEM_SHAPE_FLATTEN = 5;
     */
    BatchInput_Kind[BatchInput_Kind["BATCH_ITEM_SHAPE_FLATTEN"] = 5] = "BATCH_ITEM_SHAPE_FLATTEN";
})(BatchInput_Kind || (BatchInput_Kind = {}));
/**
 * Describes the enum inference.BatchInput.Kind.
 */
export const BatchInput_KindSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 5, 0);
/**
 * Describes the message inference.BatchOutput.
 * Use `create(BatchOutputSchema)` to create a new message.
 */
export const BatchOutputSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 6);
/**
 * Kind is the rule of division.
 *
 * @generated from enum inference.BatchOutput.Kind
 */
export var BatchOutput_Kind;
(function (BatchOutput_Kind) {
    /**
     * Each request gets as much as the shape of its source input says.
     *
     * @generated from enum value: BATCH_SCATTER_WITH_INPUT_SHAPE = 0;
     */
    BatchOutput_Kind[BatchOutput_Kind["BATCH_SCATTER_WITH_INPUT_SHAPE"] = 0] = "BATCH_SCATTER_WITH_INPUT_SHAPE";
})(BatchOutput_Kind || (BatchOutput_Kind = {}));
/**
 * Describes the enum inference.BatchOutput.Kind.
 */
export const BatchOutput_KindSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 6, 0);
/**
 * Describes the message inference.ModelVersionPolicy.
 * Use `create(ModelVersionPolicySchema)` to create a new message.
 */
export const ModelVersionPolicySchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 7);
/**
 * Describes the message inference.ModelVersionPolicy.Latest.
 * Use `create(ModelVersionPolicy_LatestSchema)` to create a new message.
 */
export const ModelVersionPolicy_LatestSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 7, 0);
/**
 * Describes the message inference.ModelVersionPolicy.All.
 * Use `create(ModelVersionPolicy_AllSchema)` to create a new message.
 */
export const ModelVersionPolicy_AllSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 7, 1);
/**
 * Describes the message inference.ModelVersionPolicy.Specific.
 * Use `create(ModelVersionPolicy_SpecificSchema)` to create a new message.
 */
export const ModelVersionPolicy_SpecificSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 7, 2);
/**
 * Describes the message inference.ModelOptimizationPolicy.
 * Use `create(ModelOptimizationPolicySchema)` to create a new message.
 */
export const ModelOptimizationPolicySchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8);
/**
 * Describes the message inference.ModelOptimizationPolicy.Graph.
 * Use `create(ModelOptimizationPolicy_GraphSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_GraphSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 0);
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.
 * Use `create(ModelOptimizationPolicy_CudaSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_CudaSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 1);
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.GraphSpec.
 * Use `create(ModelOptimizationPolicy_Cuda_GraphSpecSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_Cuda_GraphSpecSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 1, 0);
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.
 * Use `create(ModelOptimizationPolicy_Cuda_GraphSpec_ShapeSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_Cuda_GraphSpec_ShapeSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 1, 0, 0);
/**
 * Describes the message inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound.
 * Use `create(ModelOptimizationPolicy_Cuda_GraphSpec_LowerBoundSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_Cuda_GraphSpec_LowerBoundSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 1, 0, 1);
/**
 * Describes the message inference.ModelOptimizationPolicy.ExecutionAccelerators.
 * Use `create(ModelOptimizationPolicy_ExecutionAcceleratorsSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_ExecutionAcceleratorsSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 2);
/**
 * Describes the message inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator.
 * Use `create(ModelOptimizationPolicy_ExecutionAccelerators_AcceleratorSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_ExecutionAccelerators_AcceleratorSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 2, 0);
/**
 * Describes the message inference.ModelOptimizationPolicy.PinnedMemoryBuffer.
 * Use `create(ModelOptimizationPolicy_PinnedMemoryBufferSchema)` to create a new message.
 */
export const ModelOptimizationPolicy_PinnedMemoryBufferSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 8, 3);
/**
 * ModelPriority is the priority of a model's work on its device.
 *
 * @generated from enum inference.ModelOptimizationPolicy.ModelPriority
 */
export var ModelOptimizationPolicy_ModelPriority;
(function (ModelOptimizationPolicy_ModelPriority) {
    /**
     * No preference.
     *
     * @generated from enum value: PRIORITY_DEFAULT = 0;
     */
    ModelOptimizationPolicy_ModelPriority[ModelOptimizationPolicy_ModelPriority["PRIORITY_DEFAULT"] = 0] = "PRIORITY_DEFAULT";
    /**
     * Before other models, as far as the framework can.
     *
     * @generated from enum value: PRIORITY_MAX = 1;
     */
    ModelOptimizationPolicy_ModelPriority[ModelOptimizationPolicy_ModelPriority["PRIORITY_MAX"] = 1] = "PRIORITY_MAX";
    /**
     * After other models, as far as the framework can.
     *
     * @generated from enum value: PRIORITY_MIN = 2;
     */
    ModelOptimizationPolicy_ModelPriority[ModelOptimizationPolicy_ModelPriority["PRIORITY_MIN"] = 2] = "PRIORITY_MIN";
})(ModelOptimizationPolicy_ModelPriority || (ModelOptimizationPolicy_ModelPriority = {}));
/**
 * Describes the enum inference.ModelOptimizationPolicy.ModelPriority.
 */
export const ModelOptimizationPolicy_ModelPrioritySchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 8, 0);
/**
 * Describes the message inference.ModelQueuePolicy.
 * Use `create(ModelQueuePolicySchema)` to create a new message.
 */
export const ModelQueuePolicySchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 9);
/**
 * TimeoutAction is what happens to a request that waited too long.
 *
 * @generated from enum inference.ModelQueuePolicy.TimeoutAction
 */
export var ModelQueuePolicy_TimeoutAction;
(function (ModelQueuePolicy_TimeoutAction) {
    /**
     * It fails.
     *
     * @generated from enum value: REJECT = 0;
     */
    ModelQueuePolicy_TimeoutAction[ModelQueuePolicy_TimeoutAction["REJECT"] = 0] = "REJECT";
    /**
     * It goes on after all requests that have not timed out.
     *
     * @generated from enum value: DELAY = 1;
     */
    ModelQueuePolicy_TimeoutAction[ModelQueuePolicy_TimeoutAction["DELAY"] = 1] = "DELAY";
})(ModelQueuePolicy_TimeoutAction || (ModelQueuePolicy_TimeoutAction = {}));
/**
 * Describes the enum inference.ModelQueuePolicy.TimeoutAction.
 */
export const ModelQueuePolicy_TimeoutActionSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 9, 0);
/**
 * Describes the message inference.ModelDynamicBatching.
 * Use `create(ModelDynamicBatchingSchema)` to create a new message.
 */
export const ModelDynamicBatchingSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 10);
/**
 * Describes the message inference.ModelSequenceBatching.
 * Use `create(ModelSequenceBatchingSchema)` to create a new message.
 */
export const ModelSequenceBatchingSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11);
/**
 * Describes the message inference.ModelSequenceBatching.Control.
 * Use `create(ModelSequenceBatching_ControlSchema)` to create a new message.
 */
export const ModelSequenceBatching_ControlSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11, 0);
/**
 * Kind is the meaning of the signal.
 *
 * @generated from enum inference.ModelSequenceBatching.Control.Kind
 */
export var ModelSequenceBatching_Control_Kind;
(function (ModelSequenceBatching_Control_Kind) {
    /**
     * This request is the first of its sequence.
     *
     * @generated from enum value: CONTROL_SEQUENCE_START = 0;
     */
    ModelSequenceBatching_Control_Kind[ModelSequenceBatching_Control_Kind["CONTROL_SEQUENCE_START"] = 0] = "CONTROL_SEQUENCE_START";
    /**
     * This slot of the batch holds a request.
     *
     * @generated from enum value: CONTROL_SEQUENCE_READY = 1;
     */
    ModelSequenceBatching_Control_Kind[ModelSequenceBatching_Control_Kind["CONTROL_SEQUENCE_READY"] = 1] = "CONTROL_SEQUENCE_READY";
    /**
     * This request is the last of its sequence.
     *
     * @generated from enum value: CONTROL_SEQUENCE_END = 2;
     */
    ModelSequenceBatching_Control_Kind[ModelSequenceBatching_Control_Kind["CONTROL_SEQUENCE_END"] = 2] = "CONTROL_SEQUENCE_END";
    /**
     * The sequence's identifier itself, in data_type.
     *
     * @generated from enum value: CONTROL_SEQUENCE_CORRID = 3;
     */
    ModelSequenceBatching_Control_Kind[ModelSequenceBatching_Control_Kind["CONTROL_SEQUENCE_CORRID"] = 3] = "CONTROL_SEQUENCE_CORRID";
})(ModelSequenceBatching_Control_Kind || (ModelSequenceBatching_Control_Kind = {}));
/**
 * Describes the enum inference.ModelSequenceBatching.Control.Kind.
 */
export const ModelSequenceBatching_Control_KindSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 11, 0, 0);
/**
 * Describes the message inference.ModelSequenceBatching.ControlInput.
 * Use `create(ModelSequenceBatching_ControlInputSchema)` to create a new message.
 */
export const ModelSequenceBatching_ControlInputSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11, 1);
/**
 * Describes the message inference.ModelSequenceBatching.InitialState.
 * Use `create(ModelSequenceBatching_InitialStateSchema)` to create a new message.
 */
export const ModelSequenceBatching_InitialStateSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11, 2);
/**
 * Describes the message inference.ModelSequenceBatching.State.
 * Use `create(ModelSequenceBatching_StateSchema)` to create a new message.
 */
export const ModelSequenceBatching_StateSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11, 3);
/**
 * Describes the message inference.ModelSequenceBatching.StrategyDirect.
 * Use `create(ModelSequenceBatching_StrategyDirectSchema)` to create a new message.
 */
export const ModelSequenceBatching_StrategyDirectSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11, 4);
/**
 * Describes the message inference.ModelSequenceBatching.StrategyOldest.
 * Use `create(ModelSequenceBatching_StrategyOldestSchema)` to create a new message.
 */
export const ModelSequenceBatching_StrategyOldestSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 11, 5);
/**
 * Describes the message inference.ModelEnsembling.
 * Use `create(ModelEnsemblingSchema)` to create a new message.
 */
export const ModelEnsemblingSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 12);
/**
 * Describes the message inference.ModelEnsembling.Step.
 * Use `create(ModelEnsembling_StepSchema)` to create a new message.
 */
export const ModelEnsembling_StepSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 12, 0);
/**
 * Describes the message inference.ModelParameter.
 * Use `create(ModelParameterSchema)` to create a new message.
 */
export const ModelParameterSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 13);
/**
 * Describes the message inference.ModelWarmup.
 * Use `create(ModelWarmupSchema)` to create a new message.
 */
export const ModelWarmupSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 14);
/**
 * Describes the message inference.ModelWarmup.Input.
 * Use `create(ModelWarmup_InputSchema)` to create a new message.
 */
export const ModelWarmup_InputSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 14, 0);
/**
 * Describes the message inference.ModelOperations.
 * Use `create(ModelOperationsSchema)` to create a new message.
 */
export const ModelOperationsSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 15);
/**
 * Describes the message inference.ModelTransactionPolicy.
 * Use `create(ModelTransactionPolicySchema)` to create a new message.
 */
export const ModelTransactionPolicySchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 16);
/**
 * Describes the message inference.ModelRepositoryAgents.
 * Use `create(ModelRepositoryAgentsSchema)` to create a new message.
 */
export const ModelRepositoryAgentsSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 17);
/**
 * Describes the message inference.ModelRepositoryAgents.Agent.
 * Use `create(ModelRepositoryAgents_AgentSchema)` to create a new message.
 */
export const ModelRepositoryAgents_AgentSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 17, 0);
/**
 * Describes the message inference.ModelResponseCache.
 * Use `create(ModelResponseCacheSchema)` to create a new message.
 */
export const ModelResponseCacheSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 18);
/**
 * Describes the message inference.ModelMetrics.
 * Use `create(ModelMetricsSchema)` to create a new message.
 */
export const ModelMetricsSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 19);
/**
 * Describes the message inference.ModelMetrics.MetricControl.
 * Use `create(ModelMetrics_MetricControlSchema)` to create a new message.
 */
export const ModelMetrics_MetricControlSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 19, 0);
/**
 * Describes the message inference.ModelMetrics.MetricControl.MetricIdentifier.
 * Use `create(ModelMetrics_MetricControl_MetricIdentifierSchema)` to create a new message.
 */
export const ModelMetrics_MetricControl_MetricIdentifierSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 19, 0, 0);
/**
 * Describes the message inference.ModelMetrics.MetricControl.HistogramOptions.
 * Use `create(ModelMetrics_MetricControl_HistogramOptionsSchema)` to create a new message.
 */
export const ModelMetrics_MetricControl_HistogramOptionsSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 19, 0, 1);
/**
 * Describes the message inference.ModelConfig.
 * Use `create(ModelConfigSchema)` to create a new message.
 */
export const ModelConfigSchema = /*@__PURE__*/ messageDesc(file_kserve_model_config, 20);
/**
 * DataType is the element type of a tensor. Requests spell it without the
 * prefix, "FP32", except TYPE_STRING, which they call "BYTES".
 *
 * @generated from enum inference.DataType
 */
export var DataType;
(function (DataType) {
    /**
     * Not set; no tensor may have it.
     *
     * @generated from enum value: TYPE_INVALID = 0;
     */
    DataType[DataType["TYPE_INVALID"] = 0] = "TYPE_INVALID";
    /**
     * Truth value, one byte.
     *
     * @generated from enum value: TYPE_BOOL = 1;
     */
    DataType[DataType["TYPE_BOOL"] = 1] = "TYPE_BOOL";
    /**
     * Unsigned integer, 1 byte.
     *
     * @generated from enum value: TYPE_UINT8 = 2;
     */
    DataType[DataType["TYPE_UINT8"] = 2] = "TYPE_UINT8";
    /**
     * Unsigned integer, 2 bytes.
     *
     * @generated from enum value: TYPE_UINT16 = 3;
     */
    DataType[DataType["TYPE_UINT16"] = 3] = "TYPE_UINT16";
    /**
     * Unsigned integer, 4 bytes.
     *
     * @generated from enum value: TYPE_UINT32 = 4;
     */
    DataType[DataType["TYPE_UINT32"] = 4] = "TYPE_UINT32";
    /**
     * Unsigned integer, 8 bytes.
     *
     * @generated from enum value: TYPE_UINT64 = 5;
     */
    DataType[DataType["TYPE_UINT64"] = 5] = "TYPE_UINT64";
    /**
     * Signed integer, 1 byte.
     *
     * @generated from enum value: TYPE_INT8 = 6;
     */
    DataType[DataType["TYPE_INT8"] = 6] = "TYPE_INT8";
    /**
     * Signed integer, 2 bytes.
     *
     * @generated from enum value: TYPE_INT16 = 7;
     */
    DataType[DataType["TYPE_INT16"] = 7] = "TYPE_INT16";
    /**
     * Signed integer, 4 bytes.
     *
     * @generated from enum value: TYPE_INT32 = 8;
     */
    DataType[DataType["TYPE_INT32"] = 8] = "TYPE_INT32";
    /**
     * Signed integer, 8 bytes.
     *
     * @generated from enum value: TYPE_INT64 = 9;
     */
    DataType[DataType["TYPE_INT64"] = 9] = "TYPE_INT64";
    /**
     * IEEE 754 half precision, 2 bytes.
     *
     * @generated from enum value: TYPE_FP16 = 10;
     */
    DataType[DataType["TYPE_FP16"] = 10] = "TYPE_FP16";
    /**
     * IEEE 754 single precision, 4 bytes.
     *
     * @generated from enum value: TYPE_FP32 = 11;
     */
    DataType[DataType["TYPE_FP32"] = 11] = "TYPE_FP32";
    /**
     * IEEE 754 double precision, 8 bytes.
     *
     * @generated from enum value: TYPE_FP64 = 12;
     */
    DataType[DataType["TYPE_FP64"] = 12] = "TYPE_FP64";
    /**
     * Bytes of any length, not necessarily text.
     *
     * @generated from enum value: TYPE_STRING = 13;
     */
    DataType[DataType["TYPE_STRING"] = 13] = "TYPE_STRING";
    /**
     * The upper half of a single precision number, 2 bytes.
     *
     * @generated from enum value: TYPE_BF16 = 14;
     */
    DataType[DataType["TYPE_BF16"] = 14] = "TYPE_BF16";
})(DataType || (DataType = {}));
/**
 * Describes the enum inference.DataType.
 */
export const DataTypeSchema = /*@__PURE__*/ enumDesc(file_kserve_model_config, 0);
