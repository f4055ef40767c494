import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, PodSpec } from '../../src/api/generated/core-v1.ts';
import { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import { Draw } from './draw.ts';
import { drawCluster } from './plan-cluster.ts';
import { MISSING_IMAGE } from './plan-pods.ts';
import type { WorldPlan } from './plan-world.ts';
import { type Program, programArguments } from './program.ts';
import { runWorld } from './run-world.ts';
import { SimLogs } from './sim-logs.ts';

const STANDALONE: WorldPlan = {
  seed: 1,
  actions: [],
  faults: [],
  sources: ['file'],
  events: 'full',
  hasLogs: false,
  cluster: undefined,
  machine: undefined,
  times: { calm: 500_000, settled: 900_000, end: 1_200_000 },
};
const IN_A_CLUSTER: WorldPlan = {
  ...STANDALONE,
  sources: ['file', 'api'],
  cluster: drawCluster(new Draw(1, 'cluster')),
};

test('a container that a liveness probe stops after the stop for its failed hook has failed has no back-off', async () => {
  const program: Program = { unhealthyAfterMs: 200_000, postStart: { takesMs: 17_000, failsFirst: 2 } };
  const container: Container = {
    name: 'main',
    image: 'app:1',
    args: programArguments(program),
    livenessProbe: { exec: { command: ['check', 'liveness'] }, periodSeconds: 10, timeoutSeconds: 2 },
    lifecycle: { postStart: { exec: { command: ['hook', 'postStart'] } } },
  };
  const pod = podOf({ restartPolicy: 'Always', containers: [container] });
  const starts = await startsOf({
    ...STANDALONE,
    actions: [{ at: 1_000, do: 'put', from: 'file', key: 'pod', pod }],
    faults: [{ at: 2_000, kind: 'rpc', method: 'stopContainer', fault: { kind: 'hang' } }],
  });
  assert.ok(starts >= 3, `${starts} starts`);
});

test('a phase that no process could write is lost with the process', async () => {
  const pod = podOf({ restartPolicy: 'Always', containers: [{ name: 'main', image: MISSING_IMAGE }] });
  const { violation, lines } = await runWorld({
    ...IN_A_CLUSTER,
    actions: [
      { at: 20_000, do: 'put', from: 'api', key: 'pod', pod },
      { at: 65_000, do: 'delete', key: 'pod', graceSeconds: 30 },
    ],
    faults: [
      { at: 60_000, kind: 'apiSlow', ms: 60_000, callMs: 8_000 },
      { at: 69_000, kind: 'kill', calls: 0, when: 'before', downMs: 1_000 },
    ],
  });
  assert.equal(violation, undefined, lines.slice(-40).join('\n'));
  const phases = lines.flatMap((line) => /status of \S+: (\w+)/.exec(line)?.[1] ?? []);
  assert.match(phases.join(' '), /Failed Pending .*Failed/, 'the second process does not know the phase');
});

test('the open file of a log may have another name only while it is reopened', async () => {
  const clock = new VirtualClock();
  const fs = new MemoryFileSystem(() => clock.now());
  const logs = new SimLogs(fs, clock);
  const path = '/var/log/pods/pod/main/0.log';
  await fs.makeDirectory('/var/log/pods/pod/main');
  logs.started({ id: 'id', logPath: path });
  await clock.advance(1_000);
  assert.deepEqual(await logs.errors(true), []);

  await fs.rename(path, `${path}.20260101-000000`);
  assert.deepEqual(await logs.errors(true), [`the open log file of ${path} has no name`]);
  logs.called('reopenContainerLog', { containerId: 'id' });
  assert.deepEqual(await logs.errors(true), []);
  await clock.advance(2_000);
  assert.deepEqual(await logs.errors(true), [`the open log file of ${path} has no name`]);
});

function podOf(spec: PodSpec): Pod {
  return { metadata: { name: 'pod', namespace: 'default', uid: 'uid-0-0' }, spec: { ...spec, dnsPolicy: 'Default' } };
}

/** Runs a world without violations and counts the starts of its containers. */
async function startsOf(plan: WorldPlan): Promise<number> {
  const { violation, lines } = await runWorld(plan);
  assert.equal(violation, undefined, lines.slice(-40).join('\n'));
  return lines.filter((line) => line.endsWith(' started')).length;
}
