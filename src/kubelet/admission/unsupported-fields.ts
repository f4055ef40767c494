import type {
  Container,
  EphemeralContainer,
  Pod,
  PodSpec,
  Probe,
  ResourceRequirements,
  SecurityContext,
  Volume,
} from '../../api/generated/core-v1.ts';
import { SCHEMA } from '../../api/generated/core-v1-schema.ts';
import { isScalarResource } from '../../api/resource-names.ts';
import { anything, only, type Shape, unsupportedPaths } from './supported-shape.ts';

/**
 * Returns the paths of all fields that are set and that this node does not honour. Such a pod is rejected rather than
 * run differently from its manifest.
 */
export function unsupportedFields({ spec }: Pod): string[] {
  return unsupportedPaths(spec, POD_SPEC, 'spec');
}

// The tables below list the honoured fields. A new feature adds its row. `anything` without a comment means that every
// value is honoured.

/** Huge pages, and what device plugins and DRA drivers provide. */
function isScalar(name: unknown): boolean {
  return isScalarResource(String(name));
}

const RESOURCES: Shape<ResourceRequirements> = {
  requests: { keys: (name) => only('cpu', 'memory', 'ephemeral-storage')(name) || isScalar(name) },
  limits: { keys: (name) => only('cpu', 'memory', 'ephemeral-storage')(name) || isScalar(name) },
  claims: anything,
};

const PROBE: Shape<Probe> = {
  exec: anything,
  httpGet: anything,
  tcpSocket: anything,
  grpc: anything,
  initialDelaySeconds: anything,
  periodSeconds: anything,
  timeoutSeconds: anything,
  successThreshold: anything,
  failureThreshold: anything,
  terminationGracePeriodSeconds: anything,
};

const SECURITY_CONTEXT: Shape<SecurityContext> = {
  allowPrivilegeEscalation: anything,
  appArmorProfile: anything,
  capabilities: anything,
  privileged: anything,
  procMount: anything,
  readOnlyRootFilesystem: anything,
  runAsGroup: anything,
  runAsNonRoot: anything,
  runAsUser: anything,
  seLinuxOptions: anything,
  seccompProfile: anything,
};

const CONTAINER: Shape<Container> = {
  name: anything,
  image: anything,
  imagePullPolicy: anything,
  command: anything,
  args: anything,
  workingDir: anything,
  env: {
    each: {
      name: anything,
      value: anything,
      valueFrom: {
        fieldRef: anything,
        resourceFieldRef: anything,
        configMapKeyRef: anything,
        secretKeyRef: anything,
        fileKeyRef: anything,
      },
    },
  },
  envFrom: { each: { prefix: anything, configMapRef: anything, secretRef: anything } },
  ports: anything,
  resources: RESOURCES,
  resizePolicy: anything, // only used when resources change, which a static pod cannot
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: { postStart: anything, preStop: anything, stopSignal: anything },
  restartPolicy: anything,
  restartPolicyRules: anything,
  securityContext: SECURITY_CONTEXT,
  stdin: anything,
  stdinOnce: anything,
  tty: anything,
  terminationMessagePath: anything,
  terminationMessagePolicy: anything,
  volumeDevices: anything,
  volumeMounts: {
    each: {
      name: anything,
      mountPath: anything,
      mountPropagation: anything,
      readOnly: anything,
      recursiveReadOnly: anything,
      subPath: anything,
      subPathExpr: anything,
    },
  },
};

const EPHEMERAL_CONTAINER: Shape<EphemeralContainer> = { ...CONTAINER, targetContainerName: anything };

// Unsupported volume types are reported when the volume is mounted.
const VOLUME: Shape<Volume> = Object.fromEntries(Object.keys(SCHEMA['Volume'] ?? {}).map((field) => [field, anything]));

const POD_SPEC: Shape<PodSpec> = {
  containers: { each: CONTAINER },
  initContainers: { each: CONTAINER },
  ephemeralContainers: { each: EPHEMERAL_CONTAINER },
  volumes: { each: VOLUME },
  restartPolicy: anything,
  terminationGracePeriodSeconds: anything,
  activeDeadlineSeconds: anything,
  resources: RESOURCES,
  resourceClaims: anything,
  overhead: anything,
  readinessGates: anything,
  runtimeClassName: anything,
  dnsConfig: anything,
  dnsPolicy: anything,
  hostAliases: anything,
  hostIPC: anything,
  hostNetwork: anything,
  hostPID: anything,
  hostUsers: anything,
  hostname: anything,
  imagePullSecrets: anything,
  hostnameOverride: anything,
  setHostnameAsFQDN: anything,
  shareProcessNamespace: anything,
  subdomain: anything,
  os: anything,
  securityContext: {
    appArmorProfile: anything,
    fsGroup: anything,
    fsGroupChangePolicy: anything,
    runAsGroup: anything,
    runAsNonRoot: anything,
    runAsUser: anything,
    seLinuxChangePolicy: only('Recursive'), // the runtime relabels file by file
    seLinuxOptions: anything,
    seccompProfile: anything,
    supplementalGroups: anything,
    supplementalGroupsPolicy: anything,
    sysctls: anything,
  },

  // Checked by admission.
  nodeName: anything,
  nodeSelector: anything,
  affinity: anything,
  priority: anything,
  priorityClassName: anything,

  // Used by the scheduler and the API server before the pod reaches the node.
  preemptionPolicy: anything,
  schedulerName: anything,
  schedulingGates: anything,
  schedulingGroup: anything,
  tolerations: anything,
  topologySpreadConstraints: anything,
  automountServiceAccountToken: anything, // the token comes as a projected volume

  // Names only: the API server adds the resulting tokens and pull secrets to the pod.
  serviceAccount: anything,
  serviceAccountName: anything,

  enableServiceLinks: anything, // no effect on a standalone node, which has no services
};
