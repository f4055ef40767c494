/** Log rotation while a container writes as fast as it can, on the real runtime. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { createGunzip } from 'node:zlib';
import { linuxFileSystem as fs } from '../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { waitForContainerEnd } from '../../src/kubelet/local-api/wait-for-container-end.ts';
import { LogEntryParser } from '../../src/kubelet/logs/log-entries.ts';
import { logsInUse, rotatedLogs } from '../../src/kubelet/logs/log-file-names.ts';
import { type LogLine, LogLineJoiner } from '../../src/kubelet/logs/log-lines.ts';
import { readLogs } from '../../src/kubelet/logs/read-logs.ts';
import { rotateLog } from '../../src/kubelet/logs/rotate-log.ts';
import { podOf } from '../agent/memory-agent.ts';
import { shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

const needsRoot = process.getuid?.() === 0 ? false : 'needs root';
const LINE_BYTES = 2000;
const MAX_BYTES = 10_000_000;

/** Writes numbered lines as fast as one program can, until a file `enough` exists; checks and may pause after a batch. */
function writer(lookAfter: number, rest: string): string {
  const pad = LINE_BYTES - '000000000 \n'.length;
  const look = `fflush();if(system("test -e /shared/enough")==0)break;system("${rest}")`;
  const write = `for(i=0;;i++){if(i&&i%${lookAfter}==0){${look}};printf("%09d %s\\n",i,p)}`;
  return `awk 'BEGIN{p=sprintf("%${pad}s","");gsub(/ /,"x",p);${write};print i>"/shared/lines"}'`;
}

/**
 * Reads lines, and fails at the first that is lost, duplicated, out of order or broken. containerd splits the line
 * that it is writing when it reopens a log, and sometimes writes the end into the new file before the beginning is in
 * the old one: the beginning may come later, once.
 */
class LineChecker {
  #pieces = '';
  #missing: { readonly number: number; readonly length: number } | undefined;
  /** The number of the next line. */
  next = 0;

  /** Whether each line is complete. */
  get isWhole(): boolean {
    return this.#missing === undefined;
  }

  add({ text, ends }: LogLine): void {
    this.#pieces += Buffer.from(text).toString('latin1');
    const line = this.#pieces;
    if (this.#missing && line.length === this.#missing.length && Number(line.slice(0, 9)) === this.#missing.number) {
      this.#missing = undefined;
      this.#pieces = '';
      return;
    }
    if (!ends) return;
    this.#pieces = '';
    if (!this.#missing && line.length < LINE_BYTES - 1 && /^x+$/.test(line)) {
      this.#missing = { number: this.next++, length: LINE_BYTES - 1 - line.length };
      return;
    }
    if (line.length !== LINE_BYTES - 1 || Number(line.slice(0, 9)) !== this.next) {
      assert.fail(`after line ${this.next - 1} comes ${JSON.stringify(line.slice(0, 40))}, ${line.length} characters`);
    }
    this.next++;
  }
}

function filesOf(folder: string): string[] {
  return [...logsInUse(rotatedLogs('0.log', readdirSync(folder))).map(({ name }) => name), '0.log'];
}

/** The file may be compressed by now. */
function openLog(folder: string, name: string) {
  try {
    const file = createReadStream('', { fd: openSync(join(folder, name), 'r'), highWaterMark: 1 << 18 });
    return { file, isCompressed: name.endsWith('.gz') };
  } catch {
    return { file: createReadStream(join(folder, `${name}.gz`), { highWaterMark: 1 << 18 }), isCompressed: true };
  }
}

/** Reads every file of a log, oldest first. */
async function readAll(folder: string, add: (line: LogLine) => void): Promise<void> {
  const joiner = new LogLineJoiner();
  for (const name of filesOf(folder)) {
    const parser = new LogEntryParser();
    const { file, isCompressed } = openLog(folder, name);
    for await (const chunk of isCompressed ? file.pipe(createGunzip({ chunkSize: 1 << 18 })) : file) {
      for (const entry of parser.add(chunk)) {
        const line = joiner.add(entry);
        if (line) add(line);
      }
    }
  }
}

interface Writing {
  readonly command: string;
  /** The required number of files. */
  readonly files: number;
  readonly beside?: () => Promise<void>;
}

/** Runs the writer until it is enough; returns its speed and the cost of the agent. */
async function writeAll(
  t: TestContext,
  it: TestAgent,
  { command, files, beside }: Writing,
): Promise<{ readonly folder: string; readonly lines: number }> {
  const shared = join(it.runtime.folder, 'shared');
  mkdirSync(shared);
  const ready = it.next((event) => event.kind === 'status' && event.status.phase === 'Running', 'running');
  const ended = it.next((event) => event.kind === 'status' && event.status.phase === 'Succeeded', 'all written');
  const main = { ...shell('main', command), volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
  const volumes = [{ name: 'shared', hostPath: { path: shared } }];
  it.source.set(podOf('busy', { restartPolicy: 'Never', volumes, containers: [main] }));
  const from = await ready;
  const cpu = process.cpuUsage();
  const folder = join(it.runtime.folder, 'pod-logs', 'default_busy_uid-busy', 'main');
  const enough = async (): Promise<void> => {
    const seen = new Set<string>();
    await until(() => {
      for (const name of filesOf(folder)) seen.add(name.replace(/\.gz$/, ''));
      return seen.size >= files;
    });
    writeFileSync(join(shared, 'enough'), '');
  };
  const [to] = await Promise.all([ended, enough(), beside?.()]);
  const lines = Number(readFileSync(join(shared, 'lines'), 'utf8'));
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (to - from) / 1000;
  const megabytes = (lines * LINE_BYTES) / 1e6;
  const cores = (user + system) / 1e6 / seconds;
  const sizes = filesOf(folder).map((name) => {
    const size = statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
    return `${name} ${(size / 1e6).toFixed(1)} MB`;
  });
  t.diagnostic(
    `${megabytes} MB in ${seconds.toFixed(1)} s, ${(megabytes / seconds).toFixed(0)} MB/s; this process ${cores.toFixed(2)} cores`,
  );
  t.diagnostic(sizes.join(', '));
  return { folder, lines };
}

test('a full disk loses no line, and rotation resumes when there is space', { skip: needsRoot }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-full-'));
  t.after(() => {
    execFileSync('umount', [folder]);
    rmdirSync(folder);
  });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'nodelet-test', folder]);
  const path = join(folder, '0.log');
  const write = (): void => {
    const lines = Array.from(
      { length: 36 },
      () => `2026-11-15T10:00:00Z stdout F ${randomBytes(25_000).toString('hex')}`,
    );
    appendFileSync(path, `${lines.join('\n')}\n`);
  };
  const runtime = {
    reopenContainerLog: async () => {
      appendFileSync(path, '');
      return {};
    },
  };
  const rotate = (): Promise<void> => rotateLog({ id: 'c', path }, 10, { fs, runtime, clock: linuxClock }, t.signal);
  write();
  await rotate();
  write();
  const before = filesOf(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  await assert.rejects(rotate(), { name: 'FileSystemError', code: 'ENOSPC' });
  assert.deepEqual(
    filesOf(folder).map((name) => readFileSync(join(folder, name), 'utf8')),
    [...before, ''],
  );
  execFileSync('mount', ['-o', 'remount,size=20m', folder]);
  await rotate();
  const kept: string[] = [];
  await readAll(folder, ({ text }) => kept.push(Buffer.from(text).toString()));
  assert.deepEqual(
    kept,
    before
      .join('')
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(' F ')[1]),
  );
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.gz')).length, 2);
});

suite('the log of a container that writes all the time', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  const policy = { maxBytes: MAX_BYTES, maxFiles: 100, maxWorkers: 1, monitorIntervalMs: 10_000 };

  test('is rotated without a line lost, duplicated or out of order', async (t) => {
    // A short check interval makes the test fast.
    const it = await startTestAgent({ containerLogs: { ...policy, monitorIntervalMs: 100 } });
    t.after(() => it.stop());
    const { folder, lines } = await writeAll(t, it, { command: writer(10_000, 'true'), files: 5 });
    assert.ok(filesOf(folder).length > 3, filesOf(folder).join());
    await until(() => filesOf(folder).some((name) => name.endsWith('.gz')));
    const checker = new LineChecker();
    await readAll(folder, (line) => checker.add(line));
    assert.deepEqual({ next: checker.next, isWhole: checker.isWhole }, { next: lines, isWhole: true });
  });

  test('is followed without a line lost or duplicated, and keeps to its file limit', async (t) => {
    const it = await startTestAgent({ containerLogs: { ...policy, maxFiles: 3 } });
    t.after(() => it.stop());
    const checker = new LineChecker();
    const beside = async (): Promise<void> => {
      const { pod, observed } = it.report('busy');
      const container = observed?.containers[0];
      assert.ok(container);
      const ended = waitForContainerEnd(it.agent, pod.metadata.uid, container.id, t.signal);
      for await (const batch of readLogs({ fs }, container.logPath, { follow: true, ended }, t.signal)) {
        for (const line of batch) checker.add(line);
      }
    };
    const { folder, lines } = await writeAll(t, it, { command: writer(2500, 'sleep 0.2'), files: 6, beside });
    assert.deepEqual({ next: checker.next, isWhole: checker.isWhole }, { next: lines, isWhole: true });
    await until(() => filesOf(folder).length === 3); // a rotation may be in progress
    let kept = 0;
    await readAll(folder, () => kept++);
    t.diagnostic(`${kept} of ${lines} lines are kept`);
    assert.ok(kept < lines);
  });
});
