import type { ObjectKey, Resource, Selection } from './api-server.ts';

/** The path prefix of each resource. */
const PREFIXES: Record<Resource, string> = {
  pods: '/api/v1',
  nodes: '/api/v1',
  events: '/api/v1',
  configmaps: '/api/v1',
  secrets: '/api/v1',
  services: '/api/v1',
  serviceaccounts: '/api/v1',
  leases: '/apis/coordination.k8s.io/v1',
  runtimeclasses: '/apis/node.k8s.io/v1',
  certificatesigningrequests: '/apis/certificates.k8s.io/v1',
  persistentvolumeclaims: '/api/v1',
  persistentvolumes: '/api/v1',
  volumeattachments: '/apis/storage.k8s.io/v1',
  csidrivers: '/apis/storage.k8s.io/v1',
  csinodes: '/apis/storage.k8s.io/v1',
  clustertrustbundles: '/apis/certificates.k8s.io/v1beta1',
  podcertificaterequests: '/apis/certificates.k8s.io/v1beta1',
  resourceclaims: '/apis/resource.k8s.io/v1',
  resourceslices: '/apis/resource.k8s.io/v1',
};

export function objectPath({ resource, namespace, name }: ObjectKey, subresource?: string): string {
  const parts = [name, ...(subresource === undefined ? [] : [subresource])];
  return [collectionPath({ resource, namespace }), ...parts.map(encodeURIComponent)].join('/');
}

/** All namespaces if none is given. */
export function collectionPath({ resource, namespace }: Pick<Selection, 'resource' | 'namespace'>): string {
  const within = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${PREFIXES[resource]}${within}/${resource}`;
}

export function tokenPath({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`;
}

/** `?a=1&b=2` of the parameters that are set; empty if none is. */
export function queryString(parameters: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(parameters).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return set.length === 0 ? '' : `?${new URLSearchParams(set)}`;
}
