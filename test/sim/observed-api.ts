import type { ApiObjects, ApiServer, ObjectKey, Resource } from '../../src/kubelet/api-client/api-server.ts';

/** A change that the agent has made at the API server, even when its call was reported as failed. */
export type ApiWrite = { [R in Resource]: WriteOf<R> }[Resource];

interface WriteOf<R extends Resource> {
  readonly resource: R;
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  readonly name: string;
  readonly before: ApiObjects[R] | undefined;
  readonly after: ApiObjects[R] | undefined;
  /** The UID precondition of a deletion, if it has one. */
  readonly uid: string | undefined;
}

/** The same server; reports every change at the moment it happens. */
export function observedApi(api: ApiServer, wrote: (write: ApiWrite) => void): ApiServer {
  /** The in-memory server completes a call synchronously: no other client can change the object between get and change. */
  const found = <R extends Resource>(key: ObjectKey<R>, signal: AbortSignal): Promise<ApiObjects[R] | undefined> =>
    api.get(key, signal).catch(() => undefined);
  const change = async <R extends Resource, T>(
    verb: ApiWrite['verb'],
    key: ObjectKey<R>,
    uid: string | undefined,
    signal: AbortSignal,
    happen: () => Promise<T>,
  ): Promise<T> => {
    const looks = [found(key, signal)];
    const answer = happen();
    looks.push(found(key, signal));
    const [before, after] = await Promise.all(looks);
    const result = await answer;
    const { resource, name } = key;
    wrote({ resource, verb, name, before, after, uid } as ApiWrite); // both are of the key's resource
    return result;
  };
  return {
    get: (key, signal) => api.get(key, signal),
    list: (selection, signal) => api.list(selection, signal),
    watch: (selection, signal) => api.watch(selection, signal),
    create: (key, object, signal) => change('create', key, undefined, signal, () => api.create(key, object, signal)),
    update: (key, object, signal) => change('update', key, undefined, signal, () => api.update(key, object, signal)),
    patch: (key, patch, options, signal) =>
      change('patch', key, undefined, signal, () => api.patch(key, patch, options, signal)),
    delete: (key, options, signal) =>
      change('delete', key, options.uid, signal, () => api.delete(key, options, signal)),
    deleteCollection: (selection, signal) => api.deleteCollection(selection, signal),
    createToken: (account, spec, signal) => api.createToken(account, spec, signal),
  };
}
