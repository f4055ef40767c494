import type { Resource } from '../api-server.ts';

/** How the server treats a resource. */
export interface ResourceFacts {
  readonly apiVersion: string;
  readonly kind: string;
  /** As in messages: with the group, if there is one. */
  readonly qualifiedName: string;
  readonly qualifiedKind: string;
  readonly isNamespaced: boolean;
  /** The storage key of the resource, which some messages show. */
  readonly storagePrefix: string;
  /** The status is written only through its subresource. */
  readonly hasStatus: boolean;
  /** An update of a missing object creates it. */
  readonly createsOnUpdate: boolean;
  /** An update needs no `resourceVersion`. */
  readonly updatesUnconditionally: boolean;
  /** The fields that a field selector may use. */
  readonly selectableFields: readonly string[];
}

/** The facts of kube-apiserver v1.36. */
export function resourceFacts(resource: Resource): ResourceFacts {
  return FACTS[resource];
}

const NAME_FIELDS = ['metadata.name', 'metadata.namespace'];

const FACTS: Record<Resource, ResourceFacts> = {
  pods: facts('pods', 'Pod', {
    hasStatus: true,
    selectableFields: [
      ...NAME_FIELDS,
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  }),
  nodes: facts('nodes', 'Node', {
    hasStatus: true,
    isNamespaced: false,
    storagePrefix: 'minions',
    selectableFields: ['metadata.name', 'spec.unschedulable'],
  }),
  leases: facts('leases', 'Lease', {
    apiVersion: 'coordination.k8s.io/v1',
    qualifiedName: 'leases.coordination.k8s.io',
    qualifiedKind: 'Lease.coordination.k8s.io',
    createsOnUpdate: true,
    updatesUnconditionally: false,
  }),
  events: facts('events', 'Event', {
    createsOnUpdate: true,
    selectableFields: [
      ...NAME_FIELDS,
      ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
        (field) => `involvedObject.${field}`,
      ),
      'reason',
      'reportingComponent',
      'type',
    ],
  }),
  configmaps: facts('configmaps', 'ConfigMap', {}),
  secrets: facts('secrets', 'Secret', { selectableFields: [...NAME_FIELDS, 'type'] }),
  services: facts('services', 'Service', {
    hasStatus: true,
    createsOnUpdate: true,
    storagePrefix: 'services/specs',
    selectableFields: [...NAME_FIELDS, 'spec.clusterIP', 'spec.type'],
  }),
  serviceaccounts: facts('serviceaccounts', 'ServiceAccount', {}),
  runtimeclasses: facts('runtimeclasses', 'RuntimeClass', {
    apiVersion: 'node.k8s.io/v1',
    qualifiedName: 'runtimeclasses.node.k8s.io',
    qualifiedKind: 'RuntimeClass.node.k8s.io',
    isNamespaced: false,
    selectableFields: ['metadata.name'],
  }),
  certificatesigningrequests: facts('certificatesigningrequests', 'CertificateSigningRequest', {
    apiVersion: 'certificates.k8s.io/v1',
    qualifiedName: 'certificatesigningrequests.certificates.k8s.io',
    qualifiedKind: 'CertificateSigningRequest.certificates.k8s.io',
    hasStatus: true,
    isNamespaced: false,
    selectableFields: ['metadata.name', 'spec.signerName'],
  }),
  persistentvolumeclaims: facts('persistentvolumeclaims', 'PersistentVolumeClaim', {
    hasStatus: true,
    selectableFields: [...NAME_FIELDS, 'name'],
  }),
  persistentvolumes: facts('persistentvolumes', 'PersistentVolume', {
    hasStatus: true,
    isNamespaced: false,
    selectableFields: ['metadata.name', 'name'],
  }),
  volumeattachments: storageFacts('volumeattachments', 'VolumeAttachment', { hasStatus: true }),
  csidrivers: storageFacts('csidrivers', 'CSIDriver', {}),
  csinodes: storageFacts('csinodes', 'CSINode', {}),
  clustertrustbundles: facts('clustertrustbundles', 'ClusterTrustBundle', {
    apiVersion: 'certificates.k8s.io/v1beta1',
    qualifiedName: 'clustertrustbundles.certificates.k8s.io',
    qualifiedKind: 'ClusterTrustBundle.certificates.k8s.io',
    isNamespaced: false,
    selectableFields: ['metadata.name', 'spec.signerName'],
  }),
  resourceclaims: facts('resourceclaims', 'ResourceClaim', {
    apiVersion: 'resource.k8s.io/v1',
    qualifiedName: 'resourceclaims.resource.k8s.io',
    qualifiedKind: 'ResourceClaim.resource.k8s.io',
    hasStatus: true,
  }),
  resourceslices: facts('resourceslices', 'ResourceSlice', {
    apiVersion: 'resource.k8s.io/v1',
    qualifiedName: 'resourceslices.resource.k8s.io',
    qualifiedKind: 'ResourceSlice.resource.k8s.io',
    isNamespaced: false,
    selectableFields: ['metadata.name', 'spec.nodeName', 'spec.driver'],
  }),
  podcertificaterequests: facts('podcertificaterequests', 'PodCertificateRequest', {
    apiVersion: 'certificates.k8s.io/v1beta1',
    qualifiedName: 'podcertificaterequests.certificates.k8s.io',
    qualifiedKind: 'PodCertificateRequest.certificates.k8s.io',
    hasStatus: true,
    selectableFields: [...NAME_FIELDS, 'spec.signerName', 'spec.podName', 'spec.nodeName'],
  }),
};

function storageFacts(resource: Resource, kind: string, special: Partial<ResourceFacts>): ResourceFacts {
  return facts(resource, kind, {
    apiVersion: 'storage.k8s.io/v1',
    qualifiedName: `${resource}.storage.k8s.io`,
    qualifiedKind: `${kind}.storage.k8s.io`,
    isNamespaced: false,
    selectableFields: ['metadata.name'],
    ...special,
  });
}

function facts(resource: Resource, kind: string, special: Partial<ResourceFacts>): ResourceFacts {
  return {
    apiVersion: 'v1',
    kind,
    qualifiedName: resource,
    qualifiedKind: kind,
    isNamespaced: true,
    storagePrefix: resource,
    hasStatus: false,
    createsOnUpdate: false,
    updatesUnconditionally: true,
    selectableFields: NAME_FIELDS,
    ...special,
  };
}
