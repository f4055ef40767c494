import type { Pod, Secret } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { PodObjects } from '../objects/pod-objects.ts';
import { parseDockerConfigJson, parseDockercfg } from './docker-config.ts';
import type { DockerConfig, LoginSource } from './registry-login.ts';

export interface PullSecretDeps {
  readonly objects: Pick<PodObjects, 'secret'>;
  readonly events: PodEvents;
  readonly log: Log;
}

/** The Secret types with logins, and their keys. */
const FORMATS: ReadonlyMap<string, { readonly key: string; readonly parse: (text: string) => DockerConfig }> = new Map([
  ['kubernetes.io/dockerconfigjson', { key: '.dockerconfigjson', parse: parseDockerConfigJson }],
  ['kubernetes.io/dockercfg', { key: '.dockercfg', parse: parseDockercfg }],
]);

/**
 * The logins of the pod's pull secrets. Secrets that are unavailable or invalid are reported by an event, and the pull
 * is tried without them.
 */
export async function pullSecrets(
  pod: Pod,
  { objects, events, log }: PullSecretDeps,
  signal: AbortSignal,
): Promise<readonly LoginSource[]> {
  const { namespace = 'default' } = pod.metadata;
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name = '' }) => (name === '' ? [] : [name]));
  const failed: string[] = [];
  const found = await Promise.all(
    names.map(async (name) => {
      try {
        return loginSource(await objects.secret(namespace, name, signal));
      } catch (error) {
        signal.throwIfAborted();
        log.warn('cannot use pull secret', { pod: `${namespace}/${pod.metadata.name}`, name, error });
        failed.push(name);
        return [];
      }
    }),
  );
  if (failed.length > 0) {
    const unavailable = names.filter((name) => failed.includes(name));
    const list = unavailable.join(', ');
    const message = `Unable to retrieve some image pull secrets (${list}); attempting to pull the image may not succeed.`;
    const cause = { kind: 'pullSecretsUnavailable', names: unavailable } as const;
    events.record(pod, 'Warning', 'FailedToRetrieveImagePullSecret', message, undefined, cause);
  }
  return found.flat();
}

/** Empty for a Secret of another type or without content. Throws a `DockerConfigError`. */
function loginSource({ type = '', data = {}, metadata }: Secret): readonly LoginSource[] {
  const format = FORMATS.get(type);
  const content = format && data[format.key];
  if (!content) return [];
  const { uid = '', namespace = '', name } = metadata;
  const config = format.parse(Buffer.from(content, 'base64').toString('utf8'));
  return [{ config, owner: { kind: 'secret', secret: { uid, namespace, name } } }];
}
