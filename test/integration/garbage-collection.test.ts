/** Garbage collection on the real runtime: unused images, and all dead containers but the last. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { ociArchive } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { silentLog } from '../../src/base/log.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { ImageCollector } from '../../src/kubelet/gc/image-collector.ts';
import type { ImagePolicy } from '../../src/kubelet/gc/image-policy.ts';
import { serveLogs } from '../../src/kubelet/local-api/serve-logs.ts';
import { podOf } from '../agent/memory-agent.ts';
import { shell, startTestAgent, type TestAgent, untilListening } from './agent-fixture.ts';
import { PAUSE_IMAGE } from './containerd-images.ts';
import { runtimeSkipReason, TEST_RUNTIME } from './runtime-fixture.ts';

const UNUSED_IMAGE = 'localhost/nodelet/unused:1';
/** containerd also has a sandbox image. */
const NEEDED_IMAGES = TEST_RUNTIME === 'embedded' ? [BUSYBOX_IMAGE] : [BUSYBOX_IMAGE, PAUSE_IMAGE];
const RUNS = 6;
/** Fails until its sixth run, which keeps running. */
const CRASHES = `
  n=$(cat /count/n || echo 0); n=$((n + 1)); echo $n > /count/n; echo run $n
  [ $n -lt ${RUNS} ] && exit 1
  trap 'exit 0' TERM; echo listening; sleep 1000 & wait`;
const PATIENCE_MS = 180_000;

suite('garbage', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  const host = createLinuxHost(process.env);
  let it: TestAgent;
  let cri: CriConnection;

  before(async () => {
    it = await startTestAgent({ maxContainerRestartPeriodMs: 100 });
    cri = connectCri(it.runtime.endpoint, { clock: host.clock, runtimeRequestTimeoutMs: 120_000 });
    const volumeMounts = [{ name: 'count', mountPath: '/count' }];
    it.source.set(
      podOf('crash', {
        containers: [{ ...shell('main', CRASHES), volumeMounts }],
        volumes: [{ name: 'count', emptyDir: {} }],
      }),
    );
    await untilListening(join(logFolder(), `${RUNS - 1}.log`));
  });
  after(async () => {
    cri.close();
    await it.stop();
  });

  function logFolder(): string {
    return join(it.runtime.folder, 'pod-logs/default_crash_uid-crash/main');
  }

  test('of a container that kept crashing only the last dead one is left, with its log and termination message', async () => {
    // The container record is removed last: its files are gone by then.
    await until(async () => restarts() === RUNS - 1 && (await attempts()).length <= 2, 'two containers');
    assert.deepEqual(await attempts(), [RUNS - 2, RUNS - 1]);
    assert.deepEqual(readdirSync(logFolder()).sort(byText), [`${RUNS - 2}.log`, `${RUNS - 1}.log`]);
    const messages = join(it.runtime.folder, 'kubelet/pods/uid-crash/containers/main');
    assert.equal(readdirSync(messages).length, 2);
  });

  test('the log of the previous container can be read', async () => {
    const query = {
      pod: { name: 'crash', namespace: 'default' },
      container: undefined,
      previous: true,
      follow: false,
      timestamps: false,
    };
    const unlimited = { tailLines: undefined, sinceMs: undefined, limitBytes: undefined };
    const { body } = await serveLogs(
      { view: it.agent, fs: host.fs },
      { ...query, ...unlimited },
      AbortSignal.timeout(PATIENCE_MS),
    );
    assert.equal(await textOf(body), `run ${RUNS - 1}\n`);
  });

  test('a disk above its threshold loses the unused image, and no other', async () => {
    await importUnused();
    const collect = collector({ highPercent: 1, lowPercent: 0, minimumAgeMs: 0, maximumAgeMs: 0 });
    await assert.rejects(collect(), /^Error: Insufficient free disk space on the node's image filesystem/);
    assert.deepEqual(await imageNames(), NEEDED_IMAGES);
  });

  test('below the threshold an image is removed by its age', async () => {
    await importUnused();
    const collect = collector({ highPercent: 100, lowPercent: 99, minimumAgeMs: 0, maximumAgeMs: 1 });
    await until(async () => {
      await collect();
      return !(await imageNames()).includes(UNUSED_IMAGE);
    }, 'it is too old');
    assert.deepEqual(await imageNames(), NEEDED_IMAGES);
  });

  function collector(policy: ImagePolicy): () => Promise<void> {
    const { fs, clock } = host;
    const it = new ImageCollector({
      cri,
      fs,
      clock,
      log: silentLog,
      policy,
      keptImages: [],
      recordNodeEvent: () => {},
    });
    const beganMs = clock.monotonic();
    return () => it.collect(beganMs, AbortSignal.timeout(PATIENCE_MS));
  }

  async function importUnused(): Promise<void> {
    const data = new TextEncoder().encode('unused data');
    const files = [{ kind: 'file', path: 'file', mode: 0o644, data }] as const;
    const { bytes } = ociArchive({ reference: UNUSED_IMAGE, architecture: goArchitecture(), files, config: {} });
    const path = join(it.runtime.folder, 'unused.tar');
    writeFileSync(path, bytes);
    await it.runtime.load(path);
    await until(async () => (await imageNames()).includes(UNUSED_IMAGE), 'the image is known');
  }

  async function imageNames(): Promise<string[]> {
    const { images } = await cri.images.listImages({ filter: undefined }, AbortSignal.timeout(PATIENCE_MS));
    return images.flatMap(({ repoTags }) => repoTags).sort(byText);
  }

  function restarts(): number | undefined {
    return it.report('crash').status.containerStatuses?.[0]?.restartCount;
  }

  async function attempts(): Promise<number[]> {
    const { containers } = await cri.runtime.listContainers({ filter: undefined }, AbortSignal.timeout(PATIENCE_MS));
    return containers.map(({ metadata }) => metadata?.attempt ?? 0).sort((a, b) => a - b);
  }
});

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const endsAt = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    await delay(5);
  }
}

async function textOf(body: unknown): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body as AsyncIterable<Uint8Array | string>) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
