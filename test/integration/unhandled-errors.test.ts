/** `nodelet cri` as a real process, with errors that no code handles. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { ListPodSandboxRequest, PodSandboxConfig, RunPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { type EmbeddedTestRuntime, embeddedSkipReason, startEmbedded } from './runtime-fixture.ts';

const PATIENCE_MS = 60_000;

suite('errors that no code handles', { skip: embeddedSkipReason(), timeout: 300_000 }, () => {
  let runtime: EmbeddedTestRuntime;
  let cri: CriConnection;

  before(async () => {
    const preload = join(import.meta.dirname, 'throw-on-signal.ts');
    const main = join(import.meta.dirname, '../../src/main.ts');
    runtime = await startEmbedded({ command: [process.execPath, '--import', preload, main] });
    cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
  });

  after(async () => {
    cri.close();
    await runtime.stop();
  });

  const log = (): Promise<string> => readFile(join(runtime.folder, 'nodelet-cri.log'), 'utf8');

  async function logged(text: string): Promise<string> {
    for (let waited = 0; waited < PATIENCE_MS; waited += 100) {
      const line = (await log()).split('\n').find((each) => each.includes(text));
      if (line !== undefined) return line;
      await delay(100);
    }
    return assert.fail(`${text} is not logged:\n${await log()}`);
  }

  function isAlive(pid: number): boolean {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }

  async function runPod(name: string): Promise<string> {
    const config = PodSandboxConfig.fromPartial({
      metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
      linux: { cgroupParent: runtime.cgroupParent },
    });
    const request = RunPodSandboxRequest.fromPartial({ config });
    return (await cri.runtime.runPodSandbox(request, AbortSignal.timeout(PATIENCE_MS))).podSandboxId;
  }

  async function podIds(): Promise<readonly string[]> {
    const { items } = await cri.runtime.listPodSandbox(
      ListPodSandboxRequest.create(),
      AbortSignal.timeout(PATIENCE_MS),
    );
    return items.map(({ id }) => id);
  }

  test('the runtime logs them with their stacks, keeps its pods and starts others', async () => {
    const pid = runtime.pid();
    const first = await runPod('first');
    process.kill(pid, 'SIGUSR2');
    const thrown = JSON.parse(await logged('thrown on a signal')).fields;
    assert.equal(thrown.part, 'uncaughtException');
    assert.match(thrown.stack, /^Error: thrown on a signal\n {4}at .*throw-on-signal\.ts/);
    assert.equal(JSON.parse(await logged('rejected on a signal')).fields.part, 'unhandledRejection');
    const second = await runPod('second');
    assert.deepEqual(new Set(await podIds()), new Set([first, second]));
    assert.deepEqual([isAlive(pid), runtime.pid()], [true, pid]);
  });

  test('a broken invariant ends the process, and the next one has its pods', async () => {
    const pid = runtime.pid();
    const ids = await podIds();
    process.kill(pid, 'SIGUSR1');
    await logged('nodelet: a bug: InvariantError: broken on a signal');
    for (let waited = 0; isAlive(pid) && waited < PATIENCE_MS; waited += 100) await delay(100);
    assert.equal(isAlive(pid), false);
    await runtime.restart();
    assert.deepEqual(new Set(await podIds()), new Set(ids));
  });
});
