import type { Resource } from '../api-server.ts';

/** What differs between resources in how the server treats them. */
export interface ResourceFacts {
  readonly apiVersion: string;
  readonly kind: string;
  /** As messages name it: with the group, where there is one. */
  readonly qualifiedName: string;
  readonly qualifiedKind: string;
  readonly isNamespaced: boolean;
  /** The server's own name for where they are stored, which some messages show. */
  readonly storagePrefix: string;
  /** Its status is written through a subresource only. */
  readonly hasStatus: boolean;
  /** An update of one that does not exist creates it. */
  readonly createsOnUpdate: boolean;
  /** An update needs no `resourceVersion`. */
  readonly updatesUnconditionally: boolean;
  /** Beyond these no field can be selected by. */
  readonly selectableFields: readonly string[];
}

/** Those of kube-apiserver v1.36. */
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
};

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
