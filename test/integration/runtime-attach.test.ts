/** Attaching to containers below a real monitor, with each OCI runtime that works here. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import type { AttachedStreams, MonitoredContainer, OciRuntime } from '../../src/runtime/oci/oci-runtime.ts';
import { host, never, type OciProgram, OciWorld, usableCrun, usableRunc } from './oci-fixture.ts';
import { until } from './until.ts';

const SIGKILL = 9;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

for (const each of [await usableCrun(), await usableRunc()]) attachTests(each);

function attachTests({ program, skip }: OciProgram): void {
  const name = program.slice(program.lastIndexOf('/') + 1);
  const attachTest = (title: string, run: (world: OciWorld, runtime: OciRuntime) => Promise<void>): void => {
    test(`${name}: ${title}`, { skip }, async (t) => {
      const world = new OciWorld(program);
      t.after(() => world.close());
      await run(world, world.runtime());
      assert.deepEqual(await world.remainingResources(), []);
    });
  };

  attachTest('input and both outputs, from the moment of attaching, and the end', async (world, runtime) => {
    const script = 'echo before; while read line; do echo "got $line"; echo "err $line" >&2; done; echo end';
    const container = { ...world.container(['sh', '-c', script]), stdin: true, stdinOnce: true };
    await runtime.start(container, never);
    await logHas(container, 'before');
    const attached = await runtime.attach(container, never);
    await attached.write(bytes('one\ntwo\n'));
    attached.closeInput();
    assert.deepEqual(await streams(attached), { stdout: 'got one\ngot two\nend\n', stderr: 'err one\nerr two\n' });
    await runtime.wait(container, never);
    await attached.write(bytes('unread input'));
    attached.detach();
    await assert.rejects(runtime.attach(container, never), { name: 'OciError', message: /is not running/ });
    await runtime.remove(container, never);
    await assert.rejects(runtime.attach(container, never), { name: 'OciError' });
  });

  attachTest('open input survives attaching and detaching clients', async (world, runtime) => {
    const script = 'echo ready; while read line; do echo "got $line"; [ "$line" = stop ] && exit 3; done';
    const container = { ...world.container(['sh', '-c', script]), stdin: true };
    await runtime.start(container, never);
    await logHas(container, 'ready');
    for (const word of ['one', 'two']) {
      // After a restart of the runtime it is found again by its bundle.
      const attached = await world.runtime().attach(container, never);
      await attached.write(bytes(`${word}\n`));
      attached.closeInput();
      await seen(attached, `got ${word}\n`);
      attached.detach();
      attached.detach();
    }
    const last = await runtime.attach(container, never);
    await last.write(bytes('stop\n'));
    assert.deepEqual(await streams(last), { stdout: 'got stop\n', stderr: '' });
    const end = await runtime.wait(container, never);
    assert.equal(end.kind === 'exited' && end.exitCode, 3);
    await runtime.remove(container, never);
  });

  attachTest('a terminal has one output and a size', async (world, runtime) => {
    const wait = 'until [ "$(stty size 2>/dev/null)" = "44 2000" ]; do sleep 0.01; done';
    const script = `stty -echo; echo ready; ${wait}; echo out; echo err >&2; read line; echo "got $line"; exit 6`;
    const container = {
      ...world.container(['sh', '-c', script], (spec) => ({ ...spec, process: { ...spec.process, terminal: true } })),
      stdin: true,
    };
    await runtime.start(container, never);
    // A terminal may deliver a partial line: a client that attaches then gets the rest of it.
    await until(() => / F (?:ready)?\r\n/.test(readFileSync(container.logPath, 'utf8')));
    const end = runtime.wait(container, never);
    const attached = await runtime.attach(container, never);
    for (const height of [40, 41, 42, 43, 44]) await attached.resize({ width: 2000, height });
    await attached.write(bytes('go\n'));
    assert.deepEqual(await streams(attached), { stdout: 'out\r\nerr\r\ngot go\r\n', stderr: '' });
    const ended = await end;
    assert.equal(ended.kind === 'exited' && ended.exitCode, 6);
    await runtime.remove(container, never);
  });

  attachTest(
    'a container without input is looked at, and what is written to it goes nowhere',
    async (world, runtime) => {
      const container = world.container([
        'sh',
        '-c',
        'trap "echo out; exit 0" USR1; echo ready; while :; do sleep 1000 & wait; done',
      ]);
      await runtime.start(container, never);
      await logHas(container, 'ready');
      const attached = await runtime.attach(container, never);
      await attached.write(bytes('x'.repeat(1_000_000)));
      await attached.resize({ width: 10, height: 10 });
      attached.closeInput();
      const output = streams(attached);
      await runtime.kill(container, 10);
      assert.deepEqual(await output, { stdout: 'out\n', stderr: '' });
      await runtime.wait(container, never);
      await runtime.remove(container, never);
    },
  );

  attachTest(
    'who does not read holds the container up and loses nothing, but does not keep it from ending',
    async (world, runtime) => {
      const lines = 200_000;
      const script = `read line; seq ${lines}; echo done >&2`;
      const container = { ...world.container(['sh', '-c', script]), stdin: true };
      await runtime.start(container, never);
      const slow = await runtime.attach(container, never);
      await slow.write(bytes('go\n'));
      await logHas(container, '\n'); // it is writing
      const before = numbersUpTo(lines);
      const output = await streams(slow);
      assert.equal(output.stdout, before);
      assert.equal(output.stderr, 'done\n');
      await runtime.wait(container, never);
      await runtime.remove(container, never);

      const endless = world.container(['dd', 'if=/dev/zero', 'bs=8192']);
      await runtime.start(endless, never);
      const stuck = await runtime.attach(endless, never);
      await muchWritten(endless);
      await runtime.kill(endless, SIGKILL);
      assert.equal((await runtime.wait(endless, never)).kind, 'exited');
      await runtime.remove(endless, never);
      stuck.detach();
    },
  );

  attachTest('a monitor that is killed ends what is attached', async (world, runtime) => {
    const container = { ...world.container(['sleep', '1000']), stdin: true };
    await runtime.start(container, never);
    const attached = await runtime.attach(container, never);
    process.kill(Number(readFileSync(`${container.bundle}/conmon.pid`, 'utf8')), 'SIGKILL');
    assert.deepEqual(await streams(attached), { stdout: '', stderr: '' });
    await runtime.remove(container, never);
  });

  attachTest('a hundred at once see everything, however they leave', async (world, runtime) => {
    const script = 'echo ready; while read line; do echo "got $line"; done';
    const container = { ...world.container(['sh', '-c', script]), stdin: true };
    await runtime.start(container, never);
    await logHas(container, 'ready');
    const before = descriptors();
    const monitor = readFileSync(`${container.bundle}/conmon.pid`, 'utf8');
    const ofMonitor = descriptors(monitor);
    const all = await Promise.all(Array.from({ length: 100 }, () => runtime.attach(container, never)));
    // A client is connected before the monitor accepts it; only from then on it gets the output.
    await until(() => descriptors(monitor) >= ofMonitor + 100);
    const outputs = all.map((each) => seen(each, 'got last\n'));
    await Promise.all(all.map((each, index) => each.write(bytes(`${index}\n`))));
    for (const each of all.slice(0, 50)) each.closeInput();
    // The monitor reads its clients in any order.
    await until(() => readFileSync(container.logPath, 'utf8').match(/ got \d+$/gm)?.length === 100);
    await all.at(-1)?.write(bytes('last\n'));
    for (const text of await Promise.all(outputs)) {
      const numbers = [...text.matchAll(/^got (\d+)$/gm)].map((match) => Number(match[1]));
      assert.equal(new Set(numbers).size, 100);
    }
    for (const each of all) each.detach();
    await runtime.kill(container, SIGKILL);
    await runtime.wait(container, never);
    await runtime.remove(container, never);
    await until(() => descriptors() <= before);
  });
}

function descriptors(pid = 'self'): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function numbersUpTo(count: number): string {
  return Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('');
}

async function streams({ output }: AttachedStreams): Promise<{ stdout: string; stderr: string }> {
  const texts = { stdout: '', stderr: '' };
  const decoder = new TextDecoder();
  for await (const { stream, data } of output) texts[stream] += decoder.decode(data);
  return texts;
}

/** Reads until this text has arrived. */
async function seen({ output }: AttachedStreams, words: string): Promise<string> {
  let text = '';
  for await (const { data } of output) {
    text += new TextDecoder().decode(data);
    if (text.includes(words)) break;
  }
  return text;
}

async function logHas({ logPath }: MonitoredContainer, words: string): Promise<void> {
  assert.ok(logPath);
  for await (const _ of host.fs.watch(logPath, never)) {
    if (existsSync(logPath) && readFileSync(logPath, 'utf8').includes(words)) return;
  }
}

/** More than the buffer for a slow reader: the monitor blocks on it, or is about to. */
async function muchWritten({ logPath }: MonitoredContainer): Promise<void> {
  assert.ok(logPath);
  for await (const _ of host.fs.watch(logPath, never)) {
    if (existsSync(logPath) && statSync(logPath).size > 2 * 1024 * 1024) return;
  }
}
