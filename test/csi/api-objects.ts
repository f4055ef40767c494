import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { ControlPlane } from '../integration/cluster-fixture.ts';

const NAMESPACED = '/api/v1/namespaces/default';
const CLUSTER = '/api/v1';
const STORAGE = '/apis/storage.k8s.io/v1';

/** The path of each resource. */
const PATHS = {
  pods: `${NAMESPACED}/pods`,
  events: `${NAMESPACED}/events`,
  secrets: `${NAMESPACED}/secrets`,
  persistentvolumeclaims: `${NAMESPACED}/persistentvolumeclaims`,
  persistentvolumes: `${CLUSTER}/persistentvolumes`,
  nodes: `${CLUSTER}/nodes`,
  csidrivers: `${STORAGE}/csidrivers`,
  csinodes: `${STORAGE}/csinodes`,
  storageclasses: `${STORAGE}/storageclasses`,
  volumeattachments: `${STORAGE}/volumeattachments`,
} as const;

export type Resource = keyof typeof PATHS;

export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** A client for objects of the API server. It keeps its connections: `kubectl` would cost a process for each look. */
export interface ApiObjects {
  /** Undefined for an object that does not exist. */
  get<T extends ApiObject>(resource: Resource, name: string): Promise<T | undefined>;
  list<T>(resource: Resource, query?: string): Promise<readonly T[]>;
  create(resource: Resource, object: object): Promise<ApiObject>;
  /** A merge patch. */
  patch(resource: Resource, name: string, change: object, subresource?: 'status'): Promise<void>;
  remove(resource: Resource, name: string): Promise<void>;
  close(): void;
}

export function apiObjects({ url, authority }: ControlPlane): ApiObjects {
  const { certFile, keyFile } = authority.issue({ user: 'admin', groups: ['system:masters'] });
  const identity = { ca: authority.caFile, cert: certFile, key: keyFile };
  const files = Object.entries(identity).map(([name, path]) => [name, readFileSync(path)]);
  const agent = new Agent({ keepAlive: true, ...Object.fromEntries(files) });
  const send = (method: string, path: string, body?: object): Promise<{ code: number; text: string }> =>
    new Promise((resolve, reject) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const sent = request(`${url}${path}`, { method, agent, headers: { 'content-type': type } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      });
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  const ask = async (method: string, path: string, body?: object) => {
    const { code, text } = await send(method, path, body);
    if (code >= 300) throw new Error(`${method} ${path}: ${code} ${text}`);
    return JSON.parse(text);
  };
  return {
    async get(resource, name) {
      const { code, text } = await send('GET', `${PATHS[resource]}/${name}`);
      if (code === 404) return undefined;
      if (code !== 200) throw new Error(`GET ${resource}/${name}: ${code} ${text}`);
      return JSON.parse(text);
    },
    list: async (resource, query = '') => (await ask('GET', `${PATHS[resource]}?${query}`)).items,
    create: (resource, object) => ask('POST', PATHS[resource], object),
    async patch(resource, name, change, subresource) {
      await ask('PATCH', [PATHS[resource], name, ...(subresource ? [subresource] : [])].join('/'), change);
    },
    async remove(resource, name) {
      await ask('DELETE', `${PATHS[resource]}/${name}`);
    },
    close: () => agent.destroy(),
  };
}
