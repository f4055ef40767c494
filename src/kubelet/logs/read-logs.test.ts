import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { linuxFileSystem } from '../../host/linux/fs/linux-file-system.ts';
import { logText } from './log-text.ts';
import { type ReadLogsOptions, readLogs } from './read-logs.ts';

const worlds: Record<string, FileSystem> = {
  'in memory': createMemoryHost().fs,
  'on the disk': linuxFileSystem,
};

async function logFile(t: TestContext, fs: FileSystem): Promise<string> {
  const folder = `${tmpdir()}/nodelet-logs-${randomUUID()}`;
  await fs.makeDirectory(`${folder}/web`);
  t.after(() => fs.removeTree(folder));
  return `${folder}/web/0.log`;
}

const at = (second: number): string => `2026-11-15T10:00:0${second}.000000000Z`;
const entry = (second: number, text: string, tag = 'F'): string => `${at(second)} stdout ${tag} ${text}\n`;

/** Starts reading and collects the lines; `lines(n)` waits for the n-th line. */
function reader(fs: FileSystem, path: string, options: ReadLogsOptions, signal: AbortSignal) {
  const seen: string[] = [];
  let wake = (): void => {};
  const finished = (async () => {
    for await (const lines of readLogs({ fs }, path, options, signal)) {
      seen.push(...lines.map(({ text }) => Buffer.from(text).toString()));
      wake();
    }
    return seen;
  })();
  const lines = async (count: number): Promise<string[]> => {
    while (seen.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return seen;
  };
  return { finished, lines };
}

async function read(fs: FileSystem, path: string, options: Partial<ReadLogsOptions> = {}): Promise<string[]> {
  return reader(fs, path, { follow: false, ...options }, new AbortController().signal).finished;
}

const still: Record<string, { file: string; options?: Partial<ReadLogsOptions>; lines: string[] }> = {
  'returns every line': { file: entry(1, 'one') + entry(2, 'two'), lines: ['one', 'two'] },
  'joins partial entries': { file: entry(1, 'o', 'P') + entry(1, 'ne') + entry(2, 'two'), lines: ['one', 'two'] },
  'skips invalid lines': { file: `${entry(1, 'one')}\0\0garbage\n${entry(2, 'two')}`, lines: ['one', 'two'] },
  'returns a last line without a line feed': { file: entry(1, 'one') + entry(2, 'tw').trimEnd(), lines: ['one', 'tw'] },
  'starts at the tail': {
    file: entry(1, 'one') + entry(2, 'two') + entry(3, 'three'),
    options: { tail: { count: 2, of: 'lines' } },
    lines: ['two', 'three'],
  },
  'counts partial entries as one line': {
    file: entry(1, 'one') + entry(2, 't', 'P') + entry(2, 'w', 'P') + entry(2, 'o') + entry(3, 'three'),
    options: { tail: { count: 2, of: 'lines' } },
    lines: ['two', 'three'],
  },
  'returns nothing for a tail of zero': {
    file: entry(1, 'one'),
    options: { tail: { count: 0, of: 'lines' } },
    lines: [],
  },
  'accepts a tail longer than the file': {
    file: entry(1, 'one'),
    options: { tail: { count: 5, of: 'lines' } },
    lines: ['one'],
  },
  'omits lines that are too old': {
    file: entry(1, 'one') + entry(2, 'two'),
    options: { sinceMs: 1_794_736_802_000 },
    lines: ['two'],
  },
};

for (const [world, fs] of Object.entries(worlds)) {
  for (const [name, { file, options, lines }] of Object.entries(still)) {
    test(`readLogs() ${world} ${name}`, async (t) => {
      const path = await logFile(t, fs);
      await fs.writeFile(path, file);
      assert.deepEqual(await read(fs, path, options), lines);
    });
  }

  test(`readLogs() ${world} returns no lines for a missing file`, async (t) => {
    assert.deepEqual(await read(fs, await logFile(t, fs)), []);
  });

  test(`readLogs() ${world} finds the tail of a big file at any block boundary`, async (t) => {
    const path = await logFile(t, fs);
    const texts = Array.from({ length: 5000 }, (_, index) => `line ${index} ${'x'.repeat(index % 97)}`);
    await fs.writeFile(path, texts.map((text) => entry(1, text)).join(''));
    for (const count of [1, 7, 600, 4999, 5000]) {
      assert.deepEqual(await read(fs, path, { tail: { count, of: 'lines' } }), texts.slice(-count));
    }
  });

  test(`readLogs() ${world} follows a file from before it exists until the container has exited`, {
    timeout: 10_000,
  }, async (t) => {
    const path = (await logFile(t, fs)).replace('/web/', '/late/deep/');
    const ended = Promise.withResolvers<void>();
    const { finished, lines } = reader(fs, path, { follow: true, ended: ended.promise }, t.signal);
    await fs.makeDirectory(path.replace('/0.log', ''));
    await fs.writeFile(path, entry(1, 'one'));
    assert.deepEqual(await lines(1), ['one']);
    await fs.appendFile(path, entry(2, 'tw', 'P'));
    await fs.appendFile(path, entry(2, 'o'));
    assert.deepEqual(await lines(2), ['one', 'two']);
    await fs.appendFile(path, entry(3, 'last words'));
    ended.resolve();
    assert.deepEqual(await finished, ['one', 'two', 'last words']);
  });

  test(`readLogs() ${world} loses nothing when the file is rotated`, { timeout: 10_000 }, async (t) => {
    const path = await logFile(t, fs);
    await fs.writeFile(path, entry(1, 'one'));
    const ended = Promise.withResolvers<void>();
    const { finished, lines } = reader(
      fs,
      path,
      { follow: true, tail: { count: 1, of: 'lines' }, ended: ended.promise },
      t.signal,
    );
    assert.deepEqual(await lines(1), ['one']);
    await fs.rename(path, `${path}.20261115-100002`);
    await fs.appendFile(`${path}.20261115-100002`, entry(2, 'written before the runtime opened the new file'));
    await fs.writeFile(path, entry(3, 'three'));
    await lines(3);
    ended.resolve();
    assert.deepEqual(await finished, ['one', 'written before the runtime opened the new file', 'three']);
  });

  test(`readLogs() ${world} restarts in a file that was truncated in place`, { timeout: 10_000 }, async (t) => {
    const path = await logFile(t, fs);
    await fs.writeFile(path, entry(1, 'a long first line'));
    const stop = new AbortController();
    const { finished, lines } = reader(fs, path, { follow: true }, stop.signal);
    await lines(1);
    await fs.writeFile(path, entry(2, 'two'));
    assert.deepEqual(await lines(2), ['a long first line', 'two']);
    stop.abort();
    assert.deepEqual(await finished, ['a long first line', 'two']);
  });

  test(`logText() ${world} ends at its limit`, async (t) => {
    const path = await logFile(t, fs);
    await fs.writeFile(path, entry(1, 'one') + entry(2, 'two'));
    const lines = readLogs({ fs }, path, { follow: false }, t.signal);
    const chunks = await Array.fromAsync(logText(lines, { timestamps: false, limitBytes: 6 }));
    assert.equal(Buffer.concat(chunks).toString(), 'one\ntw');
  });

  test(`logText() ${world} shows times as the runtime wrote them`, async (t) => {
    const path = await logFile(t, fs);
    await fs.writeFile(path, entry(1, 'one'));
    const lines = readLogs({ fs }, path, { follow: false }, t.signal);
    const chunks = await Array.fromAsync(logText(lines, { timestamps: true }));
    assert.equal(Buffer.concat(chunks).toString(), `${at(1)} one\n`);
  });
}
