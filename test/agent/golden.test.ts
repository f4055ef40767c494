/** The CRI calls and events of a pod compared with those of kubelet v1.36.4 for the same pod. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import type { ContainerBehaviour } from '../../src/cri/fake/behaviour.ts';
import type { ObjectKey } from '../../src/kubelet/api-client/api-server.ts';
import type { MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { protoJson } from '../../src/kubelet/sync/config/proto-json.fixture.ts';
import { type MemoryAgent, newClusterWorld, SETTINGS, startAgent } from './memory-agent.ts';

const FOREVER = new AbortController().signal;
const FOLDER = join(import.meta.dirname, '../data/golden');

interface Call {
  readonly method: string;
  readonly request: {
    readonly config?: { readonly metadata: { readonly name: string }; readonly mounts?: readonly object[] };
    readonly containerId?: string;
    readonly timeout?: string | bigint;
    readonly image?: { readonly image: string };
    readonly cmd?: readonly string[];
  };
}

interface Recording {
  readonly pod: Pod;
  readonly cri_start: readonly Call[];
  readonly cri_delete: readonly Call[];
  readonly events: readonly { readonly reason: string; readonly message: string; readonly type: string }[];
}

const exits = (code: number): ContainerBehaviour => ({ exits: { afterMs: 100, code } });

/** Containers that exit by themselves; the others run. */
const cases: Record<string, Record<string, ContainerBehaviour>> = {
  '01-minimal': {},
  '02-env-expansion': {},
  '03-init-sidecar': { first: exits(0), second: exits(0) },
  '04-exit-codes': { ok: exits(0), bad: exits(3) },
  '05-volumes': {},
  '06-security': {},
  '07-missing-config': {},
  '08-image-errors': {},
};

const MUTATING =
  /^(RunPodSandbox|CreateContainer|StartContainer|StopContainer|StopPodSandbox|RemoveContainer|PullImage|ExecSync)$/;

/** The fields of a call that do not depend on the machine or the time. */
function shown({ method, request }: Call): string {
  switch (method) {
    case 'CreateContainer':
      return `${method} ${request.config?.metadata.name}`;
    case 'StopContainer':
      return `${method} ${request.timeout}`;
    case 'PullImage':
      return `${method} ${request.image?.image}`;
    case 'ExecSync':
      return `${method} ${request.cmd?.join(' ')}`;
    default:
      return method;
  }
}

/**
 * Groups adjacent calls by main container: kubelet starts containers sequentially, the agent
 * in parallel.
 */
function inSpecOrder(calls: readonly Call[], mains: readonly string[], it?: MemoryAgent): string[] {
  let created = '';
  const named = calls.map((call) => {
    const { config, containerId = '' } = call.request;
    if (call.method === 'CreateContainer') created = config?.metadata.name ?? '';
    const isStart = call.method === 'StartContainer';
    const started = it?.runtime.containers.get(containerId)?.config.metadata?.name ?? created;
    const container = isStart ? started : call.method === 'CreateContainer' ? created : '';
    return { text: isStart ? `${shown(call)} ${container}` : shown(call), place: mains.indexOf(container) };
  });
  const runs: (typeof named)[] = [];
  for (const call of named) {
    const last = runs.at(-1);
    if (call.place >= 0 && (last?.[0]?.place ?? -1) >= 0) last?.push(call);
    else runs.push([call]);
  }
  return runs.flatMap((run) => run.toSorted((a, b) => a.place - b.place).map(({ text }) => text));
}

function record({ runtime }: MemoryAgent): Call[] {
  const calls: Call[] = [];
  runtime.failures.everyCall((key, request) => {
    const method = `${key[0]?.toUpperCase()}${key.slice(1)}`;
    if (MUTATING.test(method)) calls.push({ method, request: request as Call['request'] }); // the request type of the method
    if (key !== 'pullImage') return undefined;
    const refused = 'Head "http://localhost:1/v2/none/manifests/2": dial tcp 127.0.0.1:1: connect: connection refused';
    const text = `failed to pull and unpack image "localhost:1/none:2": failed to resolve reference "localhost:1/none:2": failed to do request: ${refused}`;
    return { kind: 'before', error: new CriError('Unknown', text, { method: 'PullImage' }) };
  });
  return calls;
}

for (const [name, behaviours] of Object.entries(cases)) {
  test(`${name}: calls and events match kubelet's`, async () => {
    const recorded: Recording = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'));
    const world = await newClusterWorld();
    world.runtime.addImage('busybox');
    await world.host.fs.makeDirectory('/tmp');
    for (const [container, behaviour] of Object.entries(behaviours)) world.runtime.behaviours.set(container, behaviour);
    await using it = await startAgent(world, { clusterDns: ['10.0.0.10'], clusterDomain: 'cluster.local' });
    it.source.set();
    const calls = record(it);
    const key = { resource: 'pods', namespace: 'default', name: recorded.pod.metadata.name } as const;
    const spec = { ...recorded.pod.spec, nodeName: SETTINGS.nodeName };
    const { name: podName, namespace, labels } = recorded.pod.metadata;
    const metadata = { name: podName, namespace, uid: '', ...(labels && { labels }) };
    await world.apiServer.direct.create(key, { metadata, spec }, FOREVER);
    await it.host.clock.advance(3000);
    const mains = recorded.pod.spec.containers.map((each) => each.name);
    assert.deepEqual(inSpecOrder(calls, mains, it), inSpecOrder(recorded.cri_start, mains));
    assert.deepEqual(mountsOf(calls), mountsOf(recorded.cri_start));

    const events = it.agent.pods()[0]?.events.map(({ type, reason, message }) => ({ type, reason, message })) ?? [];
    const expected = recorded.events.map(({ type, reason, message }) => ({ type, reason, message }));
    assert.deepEqual(distinct(events), distinct(expected));
    assert.deepEqual(inOrder(await eventsAt(world.apiServer, key)), inOrder(expected));

    if (recorded.cri_delete.length > 0) {
      calls.length = 0;
      await world.apiServer.direct.delete(key, {}, FOREVER);
      await it.host.clock.advance(3000);
      // kubelet's garbage collector later stops and removes sandboxes again.
      const own = calls.map(shown).slice(0, recorded.cri_delete.length);
      assert.deepEqual(own, recorded.cri_delete.map(shown));
    }
  });
}

/** The mounts of each container, without values that are random per pod or start. */
function mountsOf(calls: readonly Call[]): Record<string, unknown> {
  const creates = calls.flatMap(({ request: { config } }) => (config?.mounts ? [config] : []));
  const drawn = /(?<=\/pods\/)[^/]+|(?<=\/containers\/[^/]+\/)[0-9a-f]+$/g;
  const text = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(protoJson(value)), (_, each: unknown) =>
      typeof each === 'string' ? each.replace(drawn, '*') : each,
    );
  return Object.fromEntries(creates.map(({ metadata, mounts }) => [metadata.name, text(mounts)]));
}

/** kubelet aggregates repetitions; the order between containers is that of its event names. */
function distinct(events: readonly EventText[]): string[] {
  return [...new Set(inOrder(events))];
}

interface EventText {
  readonly type?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

function inOrder(events: readonly EventText[]): string[] {
  return events
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
    .toSorted((a, b) => (a < b ? -1 : 1));
}

/** The events of the pod at the API server. */
async function eventsAt({ direct }: MemoryApiServer, { namespace, name }: ObjectKey<'pods'>): Promise<EventText[]> {
  const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${name}`;
  const { items } = await direct.list({ resource: 'events', namespace, fieldSelector }, FOREVER);
  return [...items];
}
