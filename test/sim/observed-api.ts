import type { ApiObjects, ApiServer, ObjectKey, Resource } from '../../src/kubelet/api-client/api-server.ts';

/** What the agent has changed at the API server, whether it was told so or not. */
export type ApiWrite = { [R in Resource]: WriteOf<R> }[Resource];

interface WriteOf<R extends Resource> {
  readonly resource: R;
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  readonly name: string;
  readonly before: ApiObjects[R] | undefined;
  readonly after: ApiObjects[R] | undefined;
  /** The object that a deletion was meant for; nothing when it was meant for whatever has the name. */
  readonly uid: string | undefined;
}

/** The same server, which tells of everything that is changed through it right when it happens. */
export function observedApi(api: ApiServer, wrote: (write: ApiWrite) => void): ApiServer {
  /** The server in memory does all of a call before it returns: nobody comes between the look and the change. */
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
    createToken: (account, spec, signal) => api.createToken(account, spec, signal),
  };
}
