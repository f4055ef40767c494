import type { Resource } from './api-server.ts';

/** How a strategic merge patch treats a field. By default maps are merged and lists are replaced. */
export interface FieldShape {
  /** A merged list: its elements are identified by this field, or are primitive values of a set. */
  readonly list?: { readonly mergeBy: string } | 'set';
  /** The fields of the map, or of each element of the list. */
  readonly fields?: Readonly<Record<string, FieldShape>>;
  /** The server keeps the field even if it is empty. */
  readonly keepsEmpty?: true;
}

/** The `patchStrategy` and `patchMergeKey` of the API's types, as Kubernetes v1.36 declares them. */
export function patchShape(resource: Resource): FieldShape {
  return { fields: { metadata: METADATA, ...SHAPES[resource] } };
}

const METADATA: FieldShape = { fields: { ownerReferences: mergedBy('uid'), finalizers: { list: 'set' } } };

const CONTAINERS: FieldShape = {
  ...mergedBy('name'),
  fields: {
    ports: mergedBy('containerPort'),
    env: mergedBy('name'),
    volumeMounts: mergedBy('mountPath'),
    volumeDevices: mergedBy('devicePath'),
  },
};

const POD_SPEC: FieldShape = {
  fields: {
    volumes: mergedBy('name'),
    initContainers: CONTAINERS,
    containers: CONTAINERS,
    ephemeralContainers: CONTAINERS,
    imagePullSecrets: mergedBy('name'),
    hostAliases: mergedBy('ip'),
    topologySpreadConstraints: mergedBy('topologyKey'),
    schedulingGates: mergedBy('name'),
    resourceClaims: mergedBy('name'),
  },
};

const POD_STATUS: FieldShape = {
  fields: {
    conditions: mergedBy('type'),
    hostIPs: mergedBy('ip'),
    podIPs: mergedBy('ip'),
    resourceClaimStatuses: mergedBy('name'),
    resources: { keepsEmpty: true },
  },
};

const SHAPES: Record<Resource, Readonly<Record<string, FieldShape>>> = {
  pods: { spec: POD_SPEC, status: POD_STATUS },
  nodes: {
    spec: { fields: { podCIDRs: { list: 'set' } } },
    status: { fields: { conditions: mergedBy('type'), addresses: mergedBy('type') } },
  },
  services: {
    spec: { fields: { ports: mergedBy('port') } },
    status: { fields: { conditions: mergedBy('type') } },
  },
  serviceaccounts: { secrets: mergedBy('name') },
  leases: {},
  events: {},
  configmaps: {},
  secrets: {},
  runtimeclasses: {},
  certificatesigningrequests: {},
  persistentvolumeclaims: { status: { fields: { conditions: mergedBy('type') } } },
  persistentvolumes: {},
  volumeattachments: {},
  csidrivers: {},
  csinodes: { spec: { fields: { drivers: mergedBy('name') } } },
  clustertrustbundles: {},
  podcertificaterequests: { status: { fields: { conditions: mergedBy('type') } } },
  resourceclaims: { status: { fields: { reservedFor: mergedBy('uid') } } },
  resourceslices: {},
};

function mergedBy(key: string): FieldShape {
  return { list: { mergeBy: key } };
}
