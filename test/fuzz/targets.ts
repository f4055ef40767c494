import type { FuzzTarget } from './fuzz-target.ts';
import * as archive from './targets/archive-targets.ts';
import { CPU_CHECKPOINT } from './targets/cpu-checkpoint-target.ts';
import * as host from './targets/host-targets.ts';
import * as image from './targets/image-targets.ts';
import * as kubernetes from './targets/kubernetes-targets.ts';
import * as runtime from './targets/runtime-targets.ts';
import * as server from './targets/server-targets.ts';
import * as spdy from './targets/spdy-targets.ts';
import * as stream from './targets/stream-targets.ts';
import { TRACEPARENT } from './targets/traceparent-target.ts';
import { WEB_SOCKET_FRAMES } from './targets/web-socket-frames-target.ts';
import { WEB_SOCKET } from './targets/web-socket-target.ts';

/** Every parser of bytes from outside. A new target is one line here. */
export const TARGETS: readonly FuzzTarget[] = [
  spdy.SPDY_FRAMES,
  spdy.SPDY_HEADERS,
  spdy.SPDY_HEADER_TEXT,
  spdy.SPDY_SESSION,
  WEB_SOCKET,
  WEB_SOCKET_FRAMES,
  stream.CHANNEL_MESSAGES,
  stream.TERMINAL_SIZES,
  stream.EXEC_MESSAGES,
  stream.TTRPC_FRAMES,
  stream.TTRPC_PEER,
  stream.MUX_FRAMES,
  stream.GRPC_HEALTH,
  archive.TAR,
  archive.PAX_RECORDS,
  archive.LAYER_TAR,
  archive.DECOMPRESS,
  archive.IMAGE_ARCHIVE,
  image.OCI_MANIFEST,
  image.IMAGE_CONFIG,
  image.IMAGE_NAME,
  image.CHALLENGE,
  image.RETRY_AFTER,
  image.HOSTS_FILE,
  image.DOCKER_CONFIG,
  image.PROVIDER_RESPONSE,
  image.REGISTRY_PATTERN,
  kubernetes.YAML,
  kubernetes.STATIC_PODS,
  kubernetes.KUBELET_CONFIG,
  kubernetes.CREDENTIAL_PROVIDERS,
  kubernetes.KUBECONFIG_TARGET,
  kubernetes.EXEC_CREDENTIAL,
  kubernetes.API_STATUS,
  kubernetes.WATCH_LINES,
  kubernetes.QUANTITY,
  kubernetes.DURATION,
  kubernetes.TIME,
  CPU_CHECKPOINT,
  runtime.CNI_RESULT,
  runtime.CNI_CONFIG,
  runtime.CDI_SPEC,
  runtime.RUNTIME_CONFIG,
  runtime.BASE_SPEC,
  runtime.SECCOMP_PROFILE,
  runtime.ACCOUNT_FILES,
  runtime.MONITOR_REPORT,
  runtime.RECORD_TEXT,
  host.MOUNTINFO,
  host.PROC_FILES,
  host.NET_DEV,
  host.CRI_LOG,
  host.RESOLV_CONF,
  host.ID_FILES,
  host.DER,
  host.PEM,
  host.CERTIFICATES,
  host.CERTIFICATE_REQUEST,
  host.FILE_NAME,
  TRACEPARENT,
  server.NODE_LOG_QUERY,
  server.BYTE_RANGE,
  server.ACCEPT_HEADER,
];

export function findTarget(name: string): FuzzTarget {
  const target = TARGETS.find((each) => each.name === name);
  if (!target) throw new Error(`no target ${name}; there are ${TARGETS.map((each) => each.name).join(', ')}`);
  return target;
}
