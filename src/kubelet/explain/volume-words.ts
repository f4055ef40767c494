import type { PodSpec } from '../../api/generated/core-v1.ts';
import { configTrouble } from './describe-error.ts';

interface VolumeTrouble {
  readonly cause: string;
  readonly text: string;
  readonly help?: string | undefined;
}

/** Which volume cannot be prepared, and why; `undefined` where the error names none. */
export function volumeTrouble({ volumes = [] }: PodSpec, error: string): VolumeTrouble | undefined {
  const [, name, rest = ''] = /^volume "([^"]*)":? (.*)$/s.exec(error) ?? [];
  if (name === undefined) return undefined;
  const title = `volume "${name}"`;
  const cause = `${title} cannot be prepared`;
  const key = /^(?:configmap )?references non-existent (?:config|secret) key: (.*)$/.exec(rest)?.[1];
  const { configMap, secret } = volumes.find((volume) => volume.name === name) ?? {};
  if (key !== undefined) {
    const object = secret ? `Secret "${secret.secretName}"` : `ConfigMap "${configMap?.name}"`;
    const owner = secret || configMap ? object : 'an object';
    return { cause, text: `${title} needs key "${key}" of ${owner}, which does not have it` };
  }
  const trouble = configTrouble(rest);
  return trouble ? { cause, text: `${title} ${trouble.text}`, help: trouble.help } : { cause, text: error };
}
