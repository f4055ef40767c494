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
import { anything, only, type Shape, unsupportedPaths } from './supported-shape.ts';

/**
 * Everything that a pod asks for and would not get, by field path. A pod that asks for such a thing is refused: it is
 * better not to run than to run in another way than its manifest says.
 */
export function unsupportedFields({ spec }: Pod): string[] {
  return unsupportedPaths(spec, POD_SPEC, 'spec');
}

// The tables below are what is honoured; whoever builds a feature adds its row. A row `anything` without a comment is
// honoured whatever its value.

function isHugePages(name: unknown): boolean {
  return String(name).startsWith('hugepages-');
}

const RESOURCES: Shape<ResourceRequirements> = {
  // What is asked for of the node's disk concerns the scheduler alone; a limit would have to be held.
  requests: { keys: (name) => only('cpu', 'memory', 'ephemeral-storage')(name) || isHugePages(name) },
  limits: { keys: (name) => only('cpu', 'memory')(name) || isHugePages(name) },
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
  resizePolicy: anything, // matters when resources change, which a pod from a manifest cannot
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

// A volume of a type that cannot be mounted yet is told of when it is to be mounted.
const VOLUME_TYPES: Shape<Volume> = Object.fromEntries(
  Object.keys(SCHEMA['Volume'] ?? {}).map((field) => [field, anything]),
);

const VOLUME: Shape<Volume> = {
  ...VOLUME_TYPES,
  // What is missing: clusterTrustBundle, podCertificate.
  projected: {
    defaultMode: anything,
    sources: {
      each: { configMap: anything, secret: anything, downwardAPI: anything, serviceAccountToken: anything },
    },
  },
};

const POD_SPEC: Shape<PodSpec> = {
  containers: { each: CONTAINER },
  initContainers: { each: CONTAINER },
  ephemeralContainers: { each: EPHEMERAL_CONTAINER },
  volumes: { each: VOLUME },
  restartPolicy: anything,
  terminationGracePeriodSeconds: anything,
  activeDeadlineSeconds: anything,
  resources: RESOURCES,
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
    fsGroupChangePolicy: anything, // volumes that are empty at first are given to the group once, whatever it says
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

  // Looked at by admission.
  nodeName: anything,
  nodeSelector: anything,
  affinity: anything,
  priority: anything,
  priorityClassName: anything,

  // The scheduler's and the API server's business: by the time a pod is here they have had their say.
  preemptionPolicy: anything,
  schedulerName: anything,
  schedulingGates: anything,
  schedulingGroup: anything,
  tolerations: anything,
  topologySpreadConstraints: anything,
  automountServiceAccountToken: anything, // the token comes as a projected volume

  // Only names: what comes of them (tokens, pull secrets) is put into the pod by the API server.
  serviceAccount: anything,
  serviceAccountName: anything,

  enableServiceLinks: anything, // without an API server there are no services to tell of
};
