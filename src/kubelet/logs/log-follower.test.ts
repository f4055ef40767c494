import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { LogFollower } from './log-follower.ts';
import { LogLineJoiner } from './log-lines.ts';
import { entry } from './written-log.fixture.ts';

const PATH = '/logs/0.log';

/** An action on a followed log. */
type Happening =
  /** The runtime writes this many pending bytes. */
  | { readonly kind: 'write'; readonly bytes: number }
  /** The log is renamed; the runtime continues to write to it. */
  | { readonly kind: 'rename' }
  /** The runtime opens a new log, and finishes a line in the old one at once, or `late`, after the next action. */
  | { readonly kind: 'reopen'; readonly late: boolean }
  | { readonly kind: 'look' };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write'), bytes: fc.integer({ min: 1, max: 200 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rename') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reopen'), late: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('look') }) },
);

/** A runtime that writes whole entries in any chunks, and changes files only between entries. */
class Writer {
  readonly #fs: FileSystem;
  readonly #entries: string[];
  #path = PATH;
  #begun = '';
  #rotations = 0;
  #late: { readonly path: string; readonly text: string } | undefined;

  constructor(fs: FileSystem, entries: readonly string[]) {
    this.#fs = fs;
    this.#entries = [...entries];
  }

  async write(bytes: number): Promise<void> {
    if (this.#begun === '') this.#begun = this.#entries.shift() ?? '';
    await this.#fs.appendFile(this.#path, this.#begun.slice(0, bytes));
    this.#begun = this.#begun.slice(bytes);
  }

  async rename(): Promise<void> {
    if (this.#path !== PATH) return;
    this.#path = `${PATH}.20260101-${String(this.#rotations++).padStart(6, '0')}`;
    await this.#fs.rename(PATH, this.#path);
    if (this.#late?.path === PATH) this.#late = { ...this.#late, path: this.#path };
  }

  async reopen(late: boolean): Promise<void> {
    if (this.#path === PATH) return;
    await this.settle();
    this.#late = { path: this.#path, text: this.#begun };
    this.#begun = '';
    this.#path = PATH;
    await this.#fs.appendFile(PATH, '');
    if (!late) await this.settle();
  }

  async settle(): Promise<void> {
    if (this.#late) await this.#fs.appendFile(this.#late.path, this.#late.text);
    this.#late = undefined;
  }

  async finish(): Promise<void> {
    await this.settle();
    while (this.#begun !== '' || this.#entries.length > 0) await this.write(1000);
  }
}

async function follow(lines: readonly string[], happenings: readonly Happening[]): Promise<string[]> {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/logs');
  await fs.writeFile(PATH, '');
  const writer = new Writer(
    fs,
    lines.map((line) => entry(line)),
  );
  await using follower = new LogFollower(fs, PATH, undefined);
  const joiner = new LogLineJoiner();
  const seen: string[] = [];
  const look = async (): Promise<void> => {
    for await (const entries of follower.entries()) {
      for (const each of entries) seen.push(Buffer.from(joiner.add(each)?.text ?? []).toString());
    }
  };
  await look();
  for (const each of happenings) {
    if (each.kind === 'look') await look();
    else if (each.kind === 'write') await writer.write(each.bytes);
    else if (each.kind === 'rename') await writer.rename();
    else await writer.reopen(each.late);
    if (each.kind !== 'reopen') await writer.settle();
  }
  await writer.finish();
  await look();
  return seen;
}

test('LogFollower returns every line once, for any split into writes and files', async () => {
  const lines = fc.integer({ min: 0, max: 30 }).map((count) => Array.from({ length: count }, (_, n) => `line ${n}`));
  await fc.assert(
    fc.asyncProperty(lines, fc.array(happening, { maxLength: 60 }), async (written, happenings) => {
      const seen = await follow(written, happenings);
      // What the runtime finished late in the old file may come after the first lines of the new one.
      assert.deepEqual(seen.toSorted(byNumber), [...written]);
      if (!happenings.some((each) => each.kind === 'reopen' && each.late)) assert.deepEqual(seen, written);
    }),
    { numRuns: 300 },
  );
});

function byNumber(a: string, b: string): number {
  return Number(a.slice(5)) - Number(b.slice(5));
}

async function files(...written: readonly (readonly [name: string, text: string])[]) {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/logs');
  for (const [name, text] of written) await fs.writeFile(`/logs/${name}`, text);
  return fs;
}

async function texts(follower: LogFollower): Promise<string[]> {
  const batches = await Array.fromAsync(follower.entries());
  return batches.flat().map(({ text }) => Buffer.from(text).toString());
}

test('LogFollower continues in its file after that was compressed and removed', async () => {
  const fs = await files(['0.log', entry('one')]);
  await using follower = new LogFollower(fs, PATH, undefined);
  assert.deepEqual(await texts(follower), ['one']);
  await fs.appendFile(PATH, entry('two'));
  await fs.remove(PATH);
  await fs.writeFile(`${PATH}.20260101-000001`, entry('three'));
  await fs.writeFile(PATH, entry('four'));
  assert.deepEqual(await texts(follower), ['two', 'three', 'four']);
});

test('LogFollower ignores copies and other files', async () => {
  const fs = await files(['0.log', entry('one')]);
  await using follower = new LogFollower(fs, PATH, undefined);
  assert.deepEqual(await texts(follower), ['one']);
  await fs.remove(PATH);
  await fs.writeFile(`${PATH}.20260101-000001`, entry('one'));
  await fs.writeFile(`${PATH}.20260101-000001.gz`, '');
  await fs.writeFile(`${PATH}.bak`, entry('backup'));
  await fs.writeFile('/logs/1.log.20260101-000001', entry('other'));
  await fs.writeFile(PATH, entry('two'));
  assert.deepEqual(await texts(follower), ['two']);
});
