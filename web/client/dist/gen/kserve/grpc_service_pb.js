// KServe v2 inference protocol over gRPC, with Triton's extensions.
//
// Names, numbers and types are fixed by the servers and clients that already
// speak this protocol: api/testdata holds them as tables and a test compares.
// Comments are free to change; nothing else is.
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_kserve_model_config } from "./model_config_pb.js";
/**
 * Describes the file kserve/grpc_service.proto.
 */
export const file_kserve_grpc_service = /*@__PURE__*/ fileDesc("Chlrc2VydmUvZ3JwY19zZXJ2aWNlLnByb3RvEglpbmZlcmVuY2UiEwoRU2VydmVyTGl2ZVJlcXVlc3QiIgoSU2VydmVyTGl2ZVJlc3BvbnNlEgwKBGxpdmUYASABKAgiFAoSU2VydmVyUmVhZHlSZXF1ZXN0IiQKE1NlcnZlclJlYWR5UmVzcG9uc2USDQoFcmVhZHkYASABKAgiMgoRTW9kZWxSZWFkeVJlcXVlc3QSDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJIiMKEk1vZGVsUmVhZHlSZXNwb25zZRINCgVyZWFkeRgBIAEoCCIXChVTZXJ2ZXJNZXRhZGF0YVJlcXVlc3QiSwoWU2VydmVyTWV0YWRhdGFSZXNwb25zZRIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkSEgoKZXh0ZW5zaW9ucxgDIAMoCSI1ChRNb2RlbE1ldGFkYXRhUmVxdWVzdBIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkijQIKFU1vZGVsTWV0YWRhdGFSZXNwb25zZRIMCgRuYW1lGAEgASgJEhAKCHZlcnNpb25zGAIgAygJEhAKCHBsYXRmb3JtGAMgASgJEj8KBmlucHV0cxgEIAMoCzIvLmluZmVyZW5jZS5Nb2RlbE1ldGFkYXRhUmVzcG9uc2UuVGVuc29yTWV0YWRhdGESQAoHb3V0cHV0cxgFIAMoCzIvLmluZmVyZW5jZS5Nb2RlbE1ldGFkYXRhUmVzcG9uc2UuVGVuc29yTWV0YWRhdGEaPwoOVGVuc29yTWV0YWRhdGESDAoEbmFtZRgBIAEoCRIQCghkYXRhdHlwZRgCIAEoCRINCgVzaGFwZRgDIAMoAyKZAQoOSW5mZXJQYXJhbWV0ZXISFAoKYm9vbF9wYXJhbRgBIAEoCEgAEhUKC2ludDY0X3BhcmFtGAIgASgDSAASFgoMc3RyaW5nX3BhcmFtGAMgASgJSAASFgoMZG91YmxlX3BhcmFtGAQgASgBSAASFgoMdWludDY0X3BhcmFtGAUgASgESABCEgoQcGFyYW1ldGVyX2Nob2ljZSLQAQoTSW5mZXJUZW5zb3JDb250ZW50cxIVCg1ib29sX2NvbnRlbnRzGAEgAygIEhQKDGludF9jb250ZW50cxgCIAMoBRIWCg5pbnQ2NF9jb250ZW50cxgDIAMoAxIVCg11aW50X2NvbnRlbnRzGAQgAygNEhcKD3VpbnQ2NF9jb250ZW50cxgFIAMoBBIVCg1mcDMyX2NvbnRlbnRzGAYgAygCEhUKDWZwNjRfY29udGVudHMYByADKAESFgoOYnl0ZXNfY29udGVudHMYCCADKAwi7gYKEU1vZGVsSW5mZXJSZXF1ZXN0EhIKCm1vZGVsX25hbWUYASABKAkSFQoNbW9kZWxfdmVyc2lvbhgCIAEoCRIKCgJpZBgDIAEoCRJACgpwYXJhbWV0ZXJzGAQgAygLMiwuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0LlBhcmFtZXRlcnNFbnRyeRI9CgZpbnB1dHMYBSADKAsyLS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuSW5mZXJJbnB1dFRlbnNvchJICgdvdXRwdXRzGAYgAygLMjcuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0LkluZmVyUmVxdWVzdGVkT3V0cHV0VGVuc29yEhoKEnJhd19pbnB1dF9jb250ZW50cxgHIAMoDBqUAgoQSW5mZXJJbnB1dFRlbnNvchIMCgRuYW1lGAEgASgJEhAKCGRhdGF0eXBlGAIgASgJEg0KBXNoYXBlGAMgAygDElEKCnBhcmFtZXRlcnMYBCADKAsyPS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuSW5mZXJJbnB1dFRlbnNvci5QYXJhbWV0ZXJzRW50cnkSMAoIY29udGVudHMYBSABKAsyHi5pbmZlcmVuY2UuSW5mZXJUZW5zb3JDb250ZW50cxpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ARrVAQoaSW5mZXJSZXF1ZXN0ZWRPdXRwdXRUZW5zb3ISDAoEbmFtZRgBIAEoCRJbCgpwYXJhbWV0ZXJzGAIgAygLMkcuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0LkluZmVyUmVxdWVzdGVkT3V0cHV0VGVuc29yLlBhcmFtZXRlcnNFbnRyeRpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ARpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ASLVBAoSTW9kZWxJbmZlclJlc3BvbnNlEhIKCm1vZGVsX25hbWUYASABKAkSFQoNbW9kZWxfdmVyc2lvbhgCIAEoCRIKCgJpZBgDIAEoCRJBCgpwYXJhbWV0ZXJzGAQgAygLMi0uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZS5QYXJhbWV0ZXJzRW50cnkSQAoHb3V0cHV0cxgFIAMoCzIvLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVzcG9uc2UuSW5mZXJPdXRwdXRUZW5zb3ISGwoTcmF3X291dHB1dF9jb250ZW50cxgGIAMoDBqXAgoRSW5mZXJPdXRwdXRUZW5zb3ISDAoEbmFtZRgBIAEoCRIQCghkYXRhdHlwZRgCIAEoCRINCgVzaGFwZRgDIAMoAxJTCgpwYXJhbWV0ZXJzGAQgAygLMj8uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZS5JbmZlck91dHB1dFRlbnNvci5QYXJhbWV0ZXJzRW50cnkSMAoIY29udGVudHMYBSABKAsyHi5pbmZlcmVuY2UuSW5mZXJUZW5zb3JDb250ZW50cxpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ARpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLkluZmVyUGFyYW1ldGVyOgI4ASJoChhNb2RlbFN0cmVhbUluZmVyUmVzcG9uc2USFQoNZXJyb3JfbWVzc2FnZRgBIAEoCRI1Cg5pbmZlcl9yZXNwb25zZRgCIAEoCzIdLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVzcG9uc2UiMwoSTW9kZWxDb25maWdSZXF1ZXN0EgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCSI9ChNNb2RlbENvbmZpZ1Jlc3BvbnNlEiYKBmNvbmZpZxgBIAEoCzIWLmluZmVyZW5jZS5Nb2RlbENvbmZpZyI3ChZNb2RlbFN0YXRpc3RpY3NSZXF1ZXN0EgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCSIuChFTdGF0aXN0aWNEdXJhdGlvbhINCgVjb3VudBgBIAEoBBIKCgJucxgCIAEoBCKcAwoPSW5mZXJTdGF0aXN0aWNzEi0KB3N1Y2Nlc3MYASABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SKgoEZmFpbBgCIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIrCgVxdWV1ZRgDIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIzCg1jb21wdXRlX2lucHV0GAQgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjMKDWNvbXB1dGVfaW5mZXIYBSABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOY29tcHV0ZV9vdXRwdXQYBiABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SLwoJY2FjaGVfaGl0GAcgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjAKCmNhY2hlX21pc3MYCCABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24iwwIKF0luZmVyUmVzcG9uc2VTdGF0aXN0aWNzEjMKDWNvbXB1dGVfaW5mZXIYASABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOY29tcHV0ZV9vdXRwdXQYAiABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SLQoHc3VjY2VzcxgDIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIqCgRmYWlsGAQgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjQKDmVtcHR5X3Jlc3BvbnNlGAUgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEiwKBmNhbmNlbBgGIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbiLKAQoUSW5mZXJCYXRjaFN0YXRpc3RpY3MSEgoKYmF0Y2hfc2l6ZRgBIAEoBBIzCg1jb21wdXRlX2lucHV0GAIgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjMKDWNvbXB1dGVfaW5mZXIYAyABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOY29tcHV0ZV9vdXRwdXQYBCABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24iOgoLTWVtb3J5VXNhZ2USDAoEdHlwZRgBIAEoCRIKCgJpZBgCIAEoAxIRCglieXRlX3NpemUYAyABKAQitAMKD01vZGVsU3RhdGlzdGljcxIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkSFgoObGFzdF9pbmZlcmVuY2UYAyABKAQSFwoPaW5mZXJlbmNlX2NvdW50GAQgASgEEhcKD2V4ZWN1dGlvbl9jb3VudBgFIAEoBBIzCg9pbmZlcmVuY2Vfc3RhdHMYBiABKAsyGi5pbmZlcmVuY2UuSW5mZXJTdGF0aXN0aWNzEjQKC2JhdGNoX3N0YXRzGAcgAygLMh8uaW5mZXJlbmNlLkluZmVyQmF0Y2hTdGF0aXN0aWNzEiwKDG1lbW9yeV91c2FnZRgIIAMoCzIWLmluZmVyZW5jZS5NZW1vcnlVc2FnZRJFCg5yZXNwb25zZV9zdGF0cxgJIAMoCzItLmluZmVyZW5jZS5Nb2RlbFN0YXRpc3RpY3MuUmVzcG9uc2VTdGF0c0VudHJ5GlgKElJlc3BvbnNlU3RhdHNFbnRyeRILCgNrZXkYASABKAkSMQoFdmFsdWUYAiABKAsyIi5pbmZlcmVuY2UuSW5mZXJSZXNwb25zZVN0YXRpc3RpY3M6AjgBIkoKF01vZGVsU3RhdGlzdGljc1Jlc3BvbnNlEi8KC21vZGVsX3N0YXRzGAEgAygLMhouaW5mZXJlbmNlLk1vZGVsU3RhdGlzdGljcyKKAQoYTW9kZWxSZXBvc2l0b3J5UGFyYW1ldGVyEhQKCmJvb2xfcGFyYW0YASABKAhIABIVCgtpbnQ2NF9wYXJhbRgCIAEoA0gAEhYKDHN0cmluZ19wYXJhbRgDIAEoCUgAEhUKC2J5dGVzX3BhcmFtGAQgASgMSABCEgoQcGFyYW1ldGVyX2Nob2ljZSJAChZSZXBvc2l0b3J5SW5kZXhSZXF1ZXN0EhcKD3JlcG9zaXRvcnlfbmFtZRgBIAEoCRINCgVyZWFkeRgCIAEoCCKkAQoXUmVwb3NpdG9yeUluZGV4UmVzcG9uc2USPQoGbW9kZWxzGAEgAygLMi0uaW5mZXJlbmNlLlJlcG9zaXRvcnlJbmRleFJlc3BvbnNlLk1vZGVsSW5kZXgaSgoKTW9kZWxJbmRleBIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkSDQoFc3RhdGUYAyABKAkSDgoGcmVhc29uGAQgASgJIuwBChpSZXBvc2l0b3J5TW9kZWxMb2FkUmVxdWVzdBIXCg9yZXBvc2l0b3J5X25hbWUYASABKAkSEgoKbW9kZWxfbmFtZRgCIAEoCRJJCgpwYXJhbWV0ZXJzGAMgAygLMjUuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXF1ZXN0LlBhcmFtZXRlcnNFbnRyeRpWCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEjIKBXZhbHVlGAIgASgLMiMuaW5mZXJlbmNlLk1vZGVsUmVwb3NpdG9yeVBhcmFtZXRlcjoCOAEiHQobUmVwb3NpdG9yeU1vZGVsTG9hZFJlc3BvbnNlIvABChxSZXBvc2l0b3J5TW9kZWxVbmxvYWRSZXF1ZXN0EhcKD3JlcG9zaXRvcnlfbmFtZRgBIAEoCRISCgptb2RlbF9uYW1lGAIgASgJEksKCnBhcmFtZXRlcnMYAyADKAsyNy5pbmZlcmVuY2UuUmVwb3NpdG9yeU1vZGVsVW5sb2FkUmVxdWVzdC5QYXJhbWV0ZXJzRW50cnkaVgoPUGFyYW1ldGVyc0VudHJ5EgsKA2tleRgBIAEoCRIyCgV2YWx1ZRgCIAEoCzIjLmluZmVyZW5jZS5Nb2RlbFJlcG9zaXRvcnlQYXJhbWV0ZXI6AjgBIh8KHVJlcG9zaXRvcnlNb2RlbFVubG9hZFJlc3BvbnNlIi8KH1N5c3RlbVNoYXJlZE1lbW9yeVN0YXR1c1JlcXVlc3QSDAoEbmFtZRgBIAEoCSKlAgogU3lzdGVtU2hhcmVkTWVtb3J5U3RhdHVzUmVzcG9uc2USSQoHcmVnaW9ucxgBIAMoCzI4LmluZmVyZW5jZS5TeXN0ZW1TaGFyZWRNZW1vcnlTdGF0dXNSZXNwb25zZS5SZWdpb25zRW50cnkaTAoMUmVnaW9uU3RhdHVzEgwKBG5hbWUYASABKAkSCwoDa2V5GAIgASgJEg4KBm9mZnNldBgDIAEoBBIRCglieXRlX3NpemUYBCABKAQaaAoMUmVnaW9uc0VudHJ5EgsKA2tleRgBIAEoCRJHCgV2YWx1ZRgCIAEoCzI4LmluZmVyZW5jZS5TeXN0ZW1TaGFyZWRNZW1vcnlTdGF0dXNSZXNwb25zZS5SZWdpb25TdGF0dXM6AjgBImEKIVN5c3RlbVNoYXJlZE1lbW9yeVJlZ2lzdGVyUmVxdWVzdBIMCgRuYW1lGAEgASgJEgsKA2tleRgCIAEoCRIOCgZvZmZzZXQYAyABKAQSEQoJYnl0ZV9zaXplGAQgASgEIiQKIlN5c3RlbVNoYXJlZE1lbW9yeVJlZ2lzdGVyUmVzcG9uc2UiMwojU3lzdGVtU2hhcmVkTWVtb3J5VW5yZWdpc3RlclJlcXVlc3QSDAoEbmFtZRgBIAEoCSImCiRTeXN0ZW1TaGFyZWRNZW1vcnlVbnJlZ2lzdGVyUmVzcG9uc2UiLQodQ3VkYVNoYXJlZE1lbW9yeVN0YXR1c1JlcXVlc3QSDAoEbmFtZRgBIAEoCSKVAgoeQ3VkYVNoYXJlZE1lbW9yeVN0YXR1c1Jlc3BvbnNlEkcKB3JlZ2lvbnMYASADKAsyNi5pbmZlcmVuY2UuQ3VkYVNoYXJlZE1lbW9yeVN0YXR1c1Jlc3BvbnNlLlJlZ2lvbnNFbnRyeRpCCgxSZWdpb25TdGF0dXMSDAoEbmFtZRgBIAEoCRIRCglkZXZpY2VfaWQYAiABKAQSEQoJYnl0ZV9zaXplGAMgASgEGmYKDFJlZ2lvbnNFbnRyeRILCgNrZXkYASABKAkSRQoFdmFsdWUYAiABKAsyNi5pbmZlcmVuY2UuQ3VkYVNoYXJlZE1lbW9yeVN0YXR1c1Jlc3BvbnNlLlJlZ2lvblN0YXR1czoCOAEiaQofQ3VkYVNoYXJlZE1lbW9yeVJlZ2lzdGVyUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJhd19oYW5kbGUYAiABKAwSEQoJZGV2aWNlX2lkGAMgASgDEhEKCWJ5dGVfc2l6ZRgEIAEoBCIiCiBDdWRhU2hhcmVkTWVtb3J5UmVnaXN0ZXJSZXNwb25zZSIxCiFDdWRhU2hhcmVkTWVtb3J5VW5yZWdpc3RlclJlcXVlc3QSDAoEbmFtZRgBIAEoCSIkCiJDdWRhU2hhcmVkTWVtb3J5VW5yZWdpc3RlclJlc3BvbnNlIuYBChNUcmFjZVNldHRpbmdSZXF1ZXN0Ej4KCHNldHRpbmdzGAEgAygLMiwuaW5mZXJlbmNlLlRyYWNlU2V0dGluZ1JlcXVlc3QuU2V0dGluZ3NFbnRyeRISCgptb2RlbF9uYW1lGAIgASgJGh0KDFNldHRpbmdWYWx1ZRINCgV2YWx1ZRgBIAMoCRpcCg1TZXR0aW5nc0VudHJ5EgsKA2tleRgBIAEoCRI6CgV2YWx1ZRgCIAEoCzIrLmluZmVyZW5jZS5UcmFjZVNldHRpbmdSZXF1ZXN0LlNldHRpbmdWYWx1ZToCOAEi1QEKFFRyYWNlU2V0dGluZ1Jlc3BvbnNlEj8KCHNldHRpbmdzGAEgAygLMi0uaW5mZXJlbmNlLlRyYWNlU2V0dGluZ1Jlc3BvbnNlLlNldHRpbmdzRW50cnkaHQoMU2V0dGluZ1ZhbHVlEg0KBXZhbHVlGAEgAygJGl0KDVNldHRpbmdzRW50cnkSCwoDa2V5GAEgASgJEjsKBXZhbHVlGAIgASgLMiwuaW5mZXJlbmNlLlRyYWNlU2V0dGluZ1Jlc3BvbnNlLlNldHRpbmdWYWx1ZToCOAEimgIKEkxvZ1NldHRpbmdzUmVxdWVzdBI9CghzZXR0aW5ncxgBIAMoCzIrLmluZmVyZW5jZS5Mb2dTZXR0aW5nc1JlcXVlc3QuU2V0dGluZ3NFbnRyeRpoCgxTZXR0aW5nVmFsdWUSFAoKYm9vbF9wYXJhbRgBIAEoCEgAEhYKDHVpbnQzMl9wYXJhbRgCIAEoDUgAEhYKDHN0cmluZ19wYXJhbRgDIAEoCUgAQhIKEHBhcmFtZXRlcl9jaG9pY2UaWwoNU2V0dGluZ3NFbnRyeRILCgNrZXkYASABKAkSOQoFdmFsdWUYAiABKAsyKi5pbmZlcmVuY2UuTG9nU2V0dGluZ3NSZXF1ZXN0LlNldHRpbmdWYWx1ZToCOAEinQIKE0xvZ1NldHRpbmdzUmVzcG9uc2USPgoIc2V0dGluZ3MYASADKAsyLC5pbmZlcmVuY2UuTG9nU2V0dGluZ3NSZXNwb25zZS5TZXR0aW5nc0VudHJ5GmgKDFNldHRpbmdWYWx1ZRIUCgpib29sX3BhcmFtGAEgASgISAASFgoMdWludDMyX3BhcmFtGAIgASgNSAASFgoMc3RyaW5nX3BhcmFtGAMgASgJSABCEgoQcGFyYW1ldGVyX2Nob2ljZRpcCg1TZXR0aW5nc0VudHJ5EgsKA2tleRgBIAEoCRI6CgV2YWx1ZRgCIAEoCzIrLmluZmVyZW5jZS5Mb2dTZXR0aW5nc1Jlc3BvbnNlLlNldHRpbmdWYWx1ZToCOAEyjg8KFEdSUENJbmZlcmVuY2VTZXJ2aWNlEkkKClNlcnZlckxpdmUSHC5pbmZlcmVuY2UuU2VydmVyTGl2ZVJlcXVlc3QaHS5pbmZlcmVuY2UuU2VydmVyTGl2ZVJlc3BvbnNlEkwKC1NlcnZlclJlYWR5Eh0uaW5mZXJlbmNlLlNlcnZlclJlYWR5UmVxdWVzdBoeLmluZmVyZW5jZS5TZXJ2ZXJSZWFkeVJlc3BvbnNlEkkKCk1vZGVsUmVhZHkSHC5pbmZlcmVuY2UuTW9kZWxSZWFkeVJlcXVlc3QaHS5pbmZlcmVuY2UuTW9kZWxSZWFkeVJlc3BvbnNlElUKDlNlcnZlck1ldGFkYXRhEiAuaW5mZXJlbmNlLlNlcnZlck1ldGFkYXRhUmVxdWVzdBohLmluZmVyZW5jZS5TZXJ2ZXJNZXRhZGF0YVJlc3BvbnNlElIKDU1vZGVsTWV0YWRhdGESHy5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlcXVlc3QaIC5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlc3BvbnNlEkkKCk1vZGVsSW5mZXISHC5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QaHS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlElkKEE1vZGVsU3RyZWFtSW5mZXISHC5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QaIy5pbmZlcmVuY2UuTW9kZWxTdHJlYW1JbmZlclJlc3BvbnNlKAEwARJMCgtNb2RlbENvbmZpZxIdLmluZmVyZW5jZS5Nb2RlbENvbmZpZ1JlcXVlc3QaHi5pbmZlcmVuY2UuTW9kZWxDb25maWdSZXNwb25zZRJYCg9Nb2RlbFN0YXRpc3RpY3MSIS5pbmZlcmVuY2UuTW9kZWxTdGF0aXN0aWNzUmVxdWVzdBoiLmluZmVyZW5jZS5Nb2RlbFN0YXRpc3RpY3NSZXNwb25zZRJYCg9SZXBvc2l0b3J5SW5kZXgSIS5pbmZlcmVuY2UuUmVwb3NpdG9yeUluZGV4UmVxdWVzdBoiLmluZmVyZW5jZS5SZXBvc2l0b3J5SW5kZXhSZXNwb25zZRJkChNSZXBvc2l0b3J5TW9kZWxMb2FkEiUuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXF1ZXN0GiYuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXNwb25zZRJqChVSZXBvc2l0b3J5TW9kZWxVbmxvYWQSJy5pbmZlcmVuY2UuUmVwb3NpdG9yeU1vZGVsVW5sb2FkUmVxdWVzdBooLmluZmVyZW5jZS5SZXBvc2l0b3J5TW9kZWxVbmxvYWRSZXNwb25zZRJzChhTeXN0ZW1TaGFyZWRNZW1vcnlTdGF0dXMSKi5pbmZlcmVuY2UuU3lzdGVtU2hhcmVkTWVtb3J5U3RhdHVzUmVxdWVzdBorLmluZmVyZW5jZS5TeXN0ZW1TaGFyZWRNZW1vcnlTdGF0dXNSZXNwb25zZRJ5ChpTeXN0ZW1TaGFyZWRNZW1vcnlSZWdpc3RlchIsLmluZmVyZW5jZS5TeXN0ZW1TaGFyZWRNZW1vcnlSZWdpc3RlclJlcXVlc3QaLS5pbmZlcmVuY2UuU3lzdGVtU2hhcmVkTWVtb3J5UmVnaXN0ZXJSZXNwb25zZRJ/ChxTeXN0ZW1TaGFyZWRNZW1vcnlVbnJlZ2lzdGVyEi4uaW5mZXJlbmNlLlN5c3RlbVNoYXJlZE1lbW9yeVVucmVnaXN0ZXJSZXF1ZXN0Gi8uaW5mZXJlbmNlLlN5c3RlbVNoYXJlZE1lbW9yeVVucmVnaXN0ZXJSZXNwb25zZRJtChZDdWRhU2hhcmVkTWVtb3J5U3RhdHVzEiguaW5mZXJlbmNlLkN1ZGFTaGFyZWRNZW1vcnlTdGF0dXNSZXF1ZXN0GikuaW5mZXJlbmNlLkN1ZGFTaGFyZWRNZW1vcnlTdGF0dXNSZXNwb25zZRJzChhDdWRhU2hhcmVkTWVtb3J5UmVnaXN0ZXISKi5pbmZlcmVuY2UuQ3VkYVNoYXJlZE1lbW9yeVJlZ2lzdGVyUmVxdWVzdBorLmluZmVyZW5jZS5DdWRhU2hhcmVkTWVtb3J5UmVnaXN0ZXJSZXNwb25zZRJ5ChpDdWRhU2hhcmVkTWVtb3J5VW5yZWdpc3RlchIsLmluZmVyZW5jZS5DdWRhU2hhcmVkTWVtb3J5VW5yZWdpc3RlclJlcXVlc3QaLS5pbmZlcmVuY2UuQ3VkYVNoYXJlZE1lbW9yeVVucmVnaXN0ZXJSZXNwb25zZRJPCgxUcmFjZVNldHRpbmcSHi5pbmZlcmVuY2UuVHJhY2VTZXR0aW5nUmVxdWVzdBofLmluZmVyZW5jZS5UcmFjZVNldHRpbmdSZXNwb25zZRJMCgtMb2dTZXR0aW5ncxIdLmluZmVyZW5jZS5Mb2dTZXR0aW5nc1JlcXVlc3QaHi5pbmZlcmVuY2UuTG9nU2V0dGluZ3NSZXNwb25zZUI0WjJnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL2tzZXJ2ZWIGcHJvdG8z", [file_kserve_model_config]);
/**
 * Describes the message inference.ServerLiveRequest.
 * Use `create(ServerLiveRequestSchema)` to create a new message.
 */
export const ServerLiveRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 0);
/**
 * Describes the message inference.ServerLiveResponse.
 * Use `create(ServerLiveResponseSchema)` to create a new message.
 */
export const ServerLiveResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 1);
/**
 * Describes the message inference.ServerReadyRequest.
 * Use `create(ServerReadyRequestSchema)` to create a new message.
 */
export const ServerReadyRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 2);
/**
 * Describes the message inference.ServerReadyResponse.
 * Use `create(ServerReadyResponseSchema)` to create a new message.
 */
export const ServerReadyResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 3);
/**
 * Describes the message inference.ModelReadyRequest.
 * Use `create(ModelReadyRequestSchema)` to create a new message.
 */
export const ModelReadyRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 4);
/**
 * Describes the message inference.ModelReadyResponse.
 * Use `create(ModelReadyResponseSchema)` to create a new message.
 */
export const ModelReadyResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 5);
/**
 * Describes the message inference.ServerMetadataRequest.
 * Use `create(ServerMetadataRequestSchema)` to create a new message.
 */
export const ServerMetadataRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 6);
/**
 * Describes the message inference.ServerMetadataResponse.
 * Use `create(ServerMetadataResponseSchema)` to create a new message.
 */
export const ServerMetadataResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 7);
/**
 * Describes the message inference.ModelMetadataRequest.
 * Use `create(ModelMetadataRequestSchema)` to create a new message.
 */
export const ModelMetadataRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 8);
/**
 * Describes the message inference.ModelMetadataResponse.
 * Use `create(ModelMetadataResponseSchema)` to create a new message.
 */
export const ModelMetadataResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 9);
/**
 * Describes the message inference.ModelMetadataResponse.TensorMetadata.
 * Use `create(ModelMetadataResponse_TensorMetadataSchema)` to create a new message.
 */
export const ModelMetadataResponse_TensorMetadataSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 9, 0);
/**
 * Describes the message inference.InferParameter.
 * Use `create(InferParameterSchema)` to create a new message.
 */
export const InferParameterSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 10);
/**
 * Describes the message inference.InferTensorContents.
 * Use `create(InferTensorContentsSchema)` to create a new message.
 */
export const InferTensorContentsSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 11);
/**
 * Describes the message inference.ModelInferRequest.
 * Use `create(ModelInferRequestSchema)` to create a new message.
 */
export const ModelInferRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 12);
/**
 * Describes the message inference.ModelInferRequest.InferInputTensor.
 * Use `create(ModelInferRequest_InferInputTensorSchema)` to create a new message.
 */
export const ModelInferRequest_InferInputTensorSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 12, 0);
/**
 * Describes the message inference.ModelInferRequest.InferRequestedOutputTensor.
 * Use `create(ModelInferRequest_InferRequestedOutputTensorSchema)` to create a new message.
 */
export const ModelInferRequest_InferRequestedOutputTensorSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 12, 1);
/**
 * Describes the message inference.ModelInferResponse.
 * Use `create(ModelInferResponseSchema)` to create a new message.
 */
export const ModelInferResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 13);
/**
 * Describes the message inference.ModelInferResponse.InferOutputTensor.
 * Use `create(ModelInferResponse_InferOutputTensorSchema)` to create a new message.
 */
export const ModelInferResponse_InferOutputTensorSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 13, 0);
/**
 * Describes the message inference.ModelStreamInferResponse.
 * Use `create(ModelStreamInferResponseSchema)` to create a new message.
 */
export const ModelStreamInferResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 14);
/**
 * Describes the message inference.ModelConfigRequest.
 * Use `create(ModelConfigRequestSchema)` to create a new message.
 */
export const ModelConfigRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 15);
/**
 * Describes the message inference.ModelConfigResponse.
 * Use `create(ModelConfigResponseSchema)` to create a new message.
 */
export const ModelConfigResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 16);
/**
 * Describes the message inference.ModelStatisticsRequest.
 * Use `create(ModelStatisticsRequestSchema)` to create a new message.
 */
export const ModelStatisticsRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 17);
/**
 * Describes the message inference.StatisticDuration.
 * Use `create(StatisticDurationSchema)` to create a new message.
 */
export const StatisticDurationSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 18);
/**
 * Describes the message inference.InferStatistics.
 * Use `create(InferStatisticsSchema)` to create a new message.
 */
export const InferStatisticsSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 19);
/**
 * Describes the message inference.InferResponseStatistics.
 * Use `create(InferResponseStatisticsSchema)` to create a new message.
 */
export const InferResponseStatisticsSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 20);
/**
 * Describes the message inference.InferBatchStatistics.
 * Use `create(InferBatchStatisticsSchema)` to create a new message.
 */
export const InferBatchStatisticsSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 21);
/**
 * Describes the message inference.MemoryUsage.
 * Use `create(MemoryUsageSchema)` to create a new message.
 */
export const MemoryUsageSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 22);
/**
 * Describes the message inference.ModelStatistics.
 * Use `create(ModelStatisticsSchema)` to create a new message.
 */
export const ModelStatisticsSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 23);
/**
 * Describes the message inference.ModelStatisticsResponse.
 * Use `create(ModelStatisticsResponseSchema)` to create a new message.
 */
export const ModelStatisticsResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 24);
/**
 * Describes the message inference.ModelRepositoryParameter.
 * Use `create(ModelRepositoryParameterSchema)` to create a new message.
 */
export const ModelRepositoryParameterSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 25);
/**
 * Describes the message inference.RepositoryIndexRequest.
 * Use `create(RepositoryIndexRequestSchema)` to create a new message.
 */
export const RepositoryIndexRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 26);
/**
 * Describes the message inference.RepositoryIndexResponse.
 * Use `create(RepositoryIndexResponseSchema)` to create a new message.
 */
export const RepositoryIndexResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 27);
/**
 * Describes the message inference.RepositoryIndexResponse.ModelIndex.
 * Use `create(RepositoryIndexResponse_ModelIndexSchema)` to create a new message.
 */
export const RepositoryIndexResponse_ModelIndexSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 27, 0);
/**
 * Describes the message inference.RepositoryModelLoadRequest.
 * Use `create(RepositoryModelLoadRequestSchema)` to create a new message.
 */
export const RepositoryModelLoadRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 28);
/**
 * Describes the message inference.RepositoryModelLoadResponse.
 * Use `create(RepositoryModelLoadResponseSchema)` to create a new message.
 */
export const RepositoryModelLoadResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 29);
/**
 * Describes the message inference.RepositoryModelUnloadRequest.
 * Use `create(RepositoryModelUnloadRequestSchema)` to create a new message.
 */
export const RepositoryModelUnloadRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 30);
/**
 * Describes the message inference.RepositoryModelUnloadResponse.
 * Use `create(RepositoryModelUnloadResponseSchema)` to create a new message.
 */
export const RepositoryModelUnloadResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 31);
/**
 * Describes the message inference.SystemSharedMemoryStatusRequest.
 * Use `create(SystemSharedMemoryStatusRequestSchema)` to create a new message.
 */
export const SystemSharedMemoryStatusRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 32);
/**
 * Describes the message inference.SystemSharedMemoryStatusResponse.
 * Use `create(SystemSharedMemoryStatusResponseSchema)` to create a new message.
 */
export const SystemSharedMemoryStatusResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 33);
/**
 * Describes the message inference.SystemSharedMemoryStatusResponse.RegionStatus.
 * Use `create(SystemSharedMemoryStatusResponse_RegionStatusSchema)` to create a new message.
 */
export const SystemSharedMemoryStatusResponse_RegionStatusSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 33, 0);
/**
 * Describes the message inference.SystemSharedMemoryRegisterRequest.
 * Use `create(SystemSharedMemoryRegisterRequestSchema)` to create a new message.
 */
export const SystemSharedMemoryRegisterRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 34);
/**
 * Describes the message inference.SystemSharedMemoryRegisterResponse.
 * Use `create(SystemSharedMemoryRegisterResponseSchema)` to create a new message.
 */
export const SystemSharedMemoryRegisterResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 35);
/**
 * Describes the message inference.SystemSharedMemoryUnregisterRequest.
 * Use `create(SystemSharedMemoryUnregisterRequestSchema)` to create a new message.
 */
export const SystemSharedMemoryUnregisterRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 36);
/**
 * Describes the message inference.SystemSharedMemoryUnregisterResponse.
 * Use `create(SystemSharedMemoryUnregisterResponseSchema)` to create a new message.
 */
export const SystemSharedMemoryUnregisterResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 37);
/**
 * Describes the message inference.CudaSharedMemoryStatusRequest.
 * Use `create(CudaSharedMemoryStatusRequestSchema)` to create a new message.
 */
export const CudaSharedMemoryStatusRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 38);
/**
 * Describes the message inference.CudaSharedMemoryStatusResponse.
 * Use `create(CudaSharedMemoryStatusResponseSchema)` to create a new message.
 */
export const CudaSharedMemoryStatusResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 39);
/**
 * Describes the message inference.CudaSharedMemoryStatusResponse.RegionStatus.
 * Use `create(CudaSharedMemoryStatusResponse_RegionStatusSchema)` to create a new message.
 */
export const CudaSharedMemoryStatusResponse_RegionStatusSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 39, 0);
/**
 * Describes the message inference.CudaSharedMemoryRegisterRequest.
 * Use `create(CudaSharedMemoryRegisterRequestSchema)` to create a new message.
 */
export const CudaSharedMemoryRegisterRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 40);
/**
 * Describes the message inference.CudaSharedMemoryRegisterResponse.
 * Use `create(CudaSharedMemoryRegisterResponseSchema)` to create a new message.
 */
export const CudaSharedMemoryRegisterResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 41);
/**
 * Describes the message inference.CudaSharedMemoryUnregisterRequest.
 * Use `create(CudaSharedMemoryUnregisterRequestSchema)` to create a new message.
 */
export const CudaSharedMemoryUnregisterRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 42);
/**
 * Describes the message inference.CudaSharedMemoryUnregisterResponse.
 * Use `create(CudaSharedMemoryUnregisterResponseSchema)` to create a new message.
 */
export const CudaSharedMemoryUnregisterResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 43);
/**
 * Describes the message inference.TraceSettingRequest.
 * Use `create(TraceSettingRequestSchema)` to create a new message.
 */
export const TraceSettingRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 44);
/**
 * Describes the message inference.TraceSettingRequest.SettingValue.
 * Use `create(TraceSettingRequest_SettingValueSchema)` to create a new message.
 */
export const TraceSettingRequest_SettingValueSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 44, 0);
/**
 * Describes the message inference.TraceSettingResponse.
 * Use `create(TraceSettingResponseSchema)` to create a new message.
 */
export const TraceSettingResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 45);
/**
 * Describes the message inference.TraceSettingResponse.SettingValue.
 * Use `create(TraceSettingResponse_SettingValueSchema)` to create a new message.
 */
export const TraceSettingResponse_SettingValueSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 45, 0);
/**
 * Describes the message inference.LogSettingsRequest.
 * Use `create(LogSettingsRequestSchema)` to create a new message.
 */
export const LogSettingsRequestSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 46);
/**
 * Describes the message inference.LogSettingsRequest.SettingValue.
 * Use `create(LogSettingsRequest_SettingValueSchema)` to create a new message.
 */
export const LogSettingsRequest_SettingValueSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 46, 0);
/**
 * Describes the message inference.LogSettingsResponse.
 * Use `create(LogSettingsResponseSchema)` to create a new message.
 */
export const LogSettingsResponseSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 47);
/**
 * Describes the message inference.LogSettingsResponse.SettingValue.
 * Use `create(LogSettingsResponse_SettingValueSchema)` to create a new message.
 */
export const LogSettingsResponse_SettingValueSchema = /*@__PURE__*/ messageDesc(file_kserve_grpc_service, 47, 0);
/**
 * GRPCInferenceService describes the server and its models, and runs inference
 * requests. It also manages the model repository, shared memory, tracing and
 * logging.
 *
 * If a request has an empty model version, the server chooses the version by
 * the model's version policy. This is the highest version that the server
 * serves.
 *
 * All methods return these codes: UNAVAILABLE for a server or model that is not
 * ready, NOT_FOUND for an unknown model, version or region, INVALID_ARGUMENT
 * for a malformed request, and UNIMPLEMENTED for a function that is disabled in
 * the server.
 *
 * @generated from service inference.GRPCInferenceService
 */
export const GRPCInferenceService = /*@__PURE__*/ serviceDesc(file_kserve_grpc_service, 0);
