/** Statistics of real pods: cgroups, disks and networks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { PodStats } from '../../src/api/stats-summary.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason, type TestRuntimeName } from './runtime-fixture.ts';
import { until } from './until.ts';

const never = new AbortController().signal;
const MIB = 1024 * 1024;
const WRITES =
  'dd if=/dev/zero of=/big bs=1M count=20 2>/dev/null; dd if=/dev/zero of=/data/x bs=1M count=3 2>/dev/null';
const RUNTIMES: readonly TestRuntimeName[] = ['embedded', 'containerd'];

function writer() {
  const container = {
    ...shell('main', `${WRITES}; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; ${EXITS_ON_SIGTERM}`),
    resources: { limits: { memory: '128Mi' } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  };
  return podOf('writer', { volumes: [{ name: 'data', emptyDir: {} }], containers: [container] });
}

async function podStatsOf({ agent }: TestAgent, name: string): Promise<PodStats> {
  const { pods } = await agent.stats.summary({ onlyCpuAndMemory: false }, never);
  const found = pods.find(({ podRef }) => podRef.name === name);
  assert.ok(found, `no statistics of pod ${name}`);
  return found;
}

for (const name of RUNTIMES) {
  test(`${name}: the summary shows what a container uses of CPU, memory, disks and network`, {
    skip: runtimeSkipReason(name),
  }, async (t) => {
    const world = await startTestAgent({ volumeStatsPeriodMs: 2_000 }, name);
    t.after(() => world.stop());
    const { source, ready, listening, agent } = world;
    const isReady = ready('writer');
    source.set(writer());
    await isReady;
    await listening('writer', 'main');
    await podStatsOf(world, 'writer'); // asks for the volumes and takes the first reading of the CPU
    await delay(1_100);

    const pod = await until(async () => {
      const stats = await podStatsOf(world, 'writer');
      // containerd measures layers every ten seconds
      assert.ok((stats.containers[0]?.rootfs?.usedBytes ?? 0) >= 20 * MIB, 'rootfs');
      assert.ok(stats.volume, 'volume');
      return stats;
    });
    const [main] = pod.containers;
    const { rootfs, logs, memory, cpu } = main ?? {};
    assert.ok(
      (rootfs?.usedBytes ?? 0) < 22 * MIB && (rootfs?.inodesUsed ?? 0) >= 1,
      `rootfs ${JSON.stringify(rootfs)}`,
    );
    assert.ok((rootfs?.capacityBytes ?? 0) > 0 && (rootfs?.availableBytes ?? 0) > 0);
    assert.deepEqual([logs?.usedBytes, logs?.inodesUsed], [4096, 1]);
    assert.ok((memory?.workingSetBytes ?? 0) > 0 && (memory?.availableBytes ?? 0) < 128 * MIB);
    assert.ok((cpu?.usageCoreNanoSeconds ?? 0) > 1_000_000 && cpu?.usageNanoCores !== undefined);
    assert.ok((pod.cpu?.usageCoreNanoSeconds ?? 0) >= (cpu?.usageCoreNanoSeconds ?? 0));
    const [data] = pod.volume ?? [];
    assert.equal(data?.name, 'data');
    assert.ok((data?.usedBytes ?? 0) >= 3 * MIB && (data?.usedBytes ?? 0) < 4 * MIB, `volume ${data?.usedBytes}`);
    const total = pod['ephemeral-storage']?.usedBytes ?? 0;
    assert.ok(total >= 23 * MIB && total < 26 * MIB, `ephemeral storage ${total}`);
    assert.equal(pod.network?.name, 'eth0');
    assert.ok((pod.process_stats?.process_count ?? 0) >= 1);

    const ofEviction = (await agent.stats.pods(never)).find(({ podRef }) => podRef.name === 'writer');
    assert.ok((ofEviction?.containers[0]?.rootfs?.usedBytes ?? 0) >= 20 * MIB);
    assert.ok((ofEviction?.['ephemeral-storage']?.usedBytes ?? 0) >= 23 * MIB);
    const { node } = await agent.stats.summary({ onlyCpuAndMemory: true }, never);
    assert.ok((node.memory?.workingSetBytes ?? 0) > 0 && (node.cpu?.usageCoreNanoSeconds ?? 0) > 0);
    assert.deepEqual(node.systemContainers?.at(-1)?.name, 'pods');
  });

  test(`${name}: statistics are read while pods start and end`, { skip: runtimeSkipReason(name) }, async (t) => {
    const world = await startTestAgent({}, name);
    t.after(() => world.stop());
    const { source, ready, gone, agent } = world;
    const pods = ['a', 'b', 'c'].map((each) => podOf(each, { containers: [shell('main', EXITS_ON_SIGTERM)] }));
    const changes = [pods.map(({ metadata }) => ready(metadata.name)), pods.map(({ metadata }) => gone(metadata.name))];
    const ended = Promise.all(changes.flat()).then(() => true);
    source.set(...pods);
    let seen = 0;
    for (let isOver = false; !isOver; isOver = await Promise.race([ended, delay(20).then(() => false)])) {
      const [summary] = await Promise.all([
        agent.stats.summary({ onlyCpuAndMemory: false }, never),
        agent.stats.pods(never),
      ]);
      seen = Math.max(seen, summary.pods.length);
      if (summary.pods.length === pods.length) source.set();
    }
    assert.equal(seen, pods.length);
    assert.deepEqual(await agent.stats.pods(never), []);
  });

  test(`${name}: /metrics/cadvisor shows the cgroups of a pod`, { skip: runtimeSkipReason(name) }, async (t) => {
    const world = await startTestAgent({}, name);
    t.after(() => world.stop());
    const isReady = world.ready('writer');
    world.source.set(writer());
    await isReady;
    await world.listening('writer', 'main');
    const lines = await until(async () => {
      const page = (await world.agent.stats.cadvisorPage(never)).split('\n');
      const used = page.find((line) => /^container_fs_usage_bytes\{container="main"/.test(line));
      return Number(used?.split(' ')[1]) >= 20 * MIB ? page : undefined; // containerd measures layers every ten seconds
    });
    const figureOf = (pattern: RegExp): number => {
      const found = lines.filter((line) => pattern.test(line));
      assert.equal(found.length, 1, `${pattern}: ${found.join()}`);
      return Number(found[0]?.split('} ')[1]?.split(' ')[0]);
    };
    const of = (metric: string, labels = ''): RegExp =>
      new RegExp(
        `^${metric}\\{container="main",id="[^"]*",image="[^"]*busybox[^"]*",name="[0-9a-f]{64}",namespace="default",pod="writer"${labels}\\} `,
      );
    assert.equal(figureOf(of('container_spec_memory_limit_bytes')), 128 * MIB);
    assert.ok(figureOf(of('container_memory_usage_bytes')) > 20 * MIB);
    assert.equal(figureOf(of('container_processes')), 2); // the shell, and what it waits for
    assert.ok(figureOf(of('container_file_descriptors')) >= 3);
    assert.ok(figureOf(of('container_ulimits_soft', ',ulimit="max_open_files"')) > 0);
    assert.ok(figureOf(/^container_cpu_usage_seconds_total\{container="main",cpu="total",.*pod="writer"/) > 0);
    assert.ok(figureOf(/^container_network_receive_bytes_total\{container="",.*interface="eth0",.*pod="writer"/) >= 0);
    assert.ok(figureOf(/^container_memory_usage_bytes\{container="",id="\/",/) > 128 * MIB);
    assert.ok(lines.includes('container_scrape_error 0') && lines.includes('machine_scrape_error 0'));
  });
}

test('embedded: /metrics/cadvisor shows what the runtime reports if it is asked for pods', {
  skip: runtimeSkipReason('embedded'),
}, async (t) => {
  const world = await startTestAgent({ statsFromCri: true }, 'embedded');
  t.after(() => world.stop());
  const isReady = world.ready('writer');
  world.source.set(writer());
  await isReady;
  const page = await world.agent.stats.cadvisorPage(never);
  assert.match(page, /^# HELP container_memory_usage_bytes \[INTERNAL\] Current memory usage in bytes/m);
  assert.match(page, /^container_memory_usage_bytes\{container="main",.*pod="writer"\} \S+$/m);
  assert.match(page, /^machine_cpu_cores\{/m);
  assert.doesNotMatch(page, /id="\/"/);
});
