import assert from 'node:assert/strict';
import test from 'node:test';
import type { Secret } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PodEvents } from '../events/pod-events.ts';
import { objectNotFound } from '../objects/pod-objects.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { pullSecrets } from './pull-secrets.ts';

const auths = { 'gcr.io': { username: 'u', password: 'p' } };

function secretOf(name: string, type: string, key: string, content: unknown): Secret {
  const data = { [key]: Buffer.from(JSON.stringify(content)).toString('base64') };
  return { metadata: { name, namespace: 'default', uid: `uid of ${name}` }, type, data };
}

const SECRETS: readonly Secret[] = [
  secretOf('json', 'kubernetes.io/dockerconfigjson', '.dockerconfigjson', { auths }),
  secretOf('cfg', 'kubernetes.io/dockercfg', '.dockercfg', auths),
  secretOf('opaque', 'Opaque', '.dockerconfigjson', { auths }),
  secretOf('mixed', 'kubernetes.io/dockercfg', '.dockerconfigjson', { auths }),
  secretOf('broken', 'kubernetes.io/dockercfg', '.dockercfg', []),
];

async function ask(...names: string[]) {
  const events = new PodEvents(new VirtualClock());
  const recorded: unknown[] = [];
  events.subscribe((_, { type, reason, message, fieldPath }) => recorded.push([type, reason, message, fieldPath]));
  const secret = async (namespace: string, name: string): Promise<Secret> => {
    const found = SECRETS.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    if (!found) throw objectNotFound({ kind: 'secret', name });
    return found;
  };
  const pod = examplePod({ spec: { imagePullSecrets: names.map((name) => ({ name })) } });
  const deps = { objects: { secret }, events, log: silentLog };
  const sources = await pullSecrets(pod, deps, new AbortController().signal);
  return {
    found: sources.map((each) => [each.owner.kind === 'secret' && each.owner.secret.name, [...each.config.keys()]]),
    recorded,
  };
}

test('pullSecrets() reads both types, in the order of the pod', async () => {
  assert.deepEqual(await ask('json', 'cfg'), {
    found: [
      ['json', ['gcr.io']],
      ['cfg', ['gcr.io']],
    ],
    recorded: [],
  });
});

test('pullSecrets() skips other types and empty names', async () => {
  assert.deepEqual(await ask('opaque', '', 'mixed', 'json'), { found: [['json', ['gcr.io']]], recorded: [] });
});

test('pullSecrets() reports missing and invalid Secrets, and continues without them', async () => {
  const message =
    'Unable to retrieve some image pull secrets (none, broken); attempting to pull the image may not succeed.';
  assert.deepEqual(await ask('none', 'json', 'broken'), {
    found: [['json', ['gcr.io']]],
    recorded: [['Warning', 'FailedToRetrieveImagePullSecret', message, undefined]],
  });
});
