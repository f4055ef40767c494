import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goArchitecture } from '../app/go-architecture.ts';
import { layerOf, ociArchiveOf } from '../runtime/images/fake/image-archives.ts';
import { type ScriptedContext, type ScriptedContextOptions, scriptedContext } from './fake/scripted-context.ts';
import { imageCommand } from './image-command.ts';

const FOLDERS = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };

/** As the command line has it, without the folders. */
type Verb =
  | { readonly verb: 'load'; readonly archive: string }
  | { readonly verb: 'ls' }
  | { readonly verb: 'rm'; readonly images: readonly string[] };

/** A machine with an archive of one image that has two names. */
async function machine(options: ScriptedContextOptions = {}): Promise<ScriptedContext & { archive: Uint8Array }> {
  const scripted = scriptedContext(options);
  const archive = await ociArchiveOf({
    names: ['localhost/app:1', 'localhost/app:2'],
    layers: [await layerOf({ sh: 'shell' })],
    architecture: goArchitecture(),
  });
  await scripted.host.fs.makeDirectory('/a');
  await scripted.host.fs.writeFile('/a/app.tar', archive);
  return { ...scripted, archive };
}

/** What it prints. */
async function run({ context, written }: ScriptedContext, verb: Verb): Promise<string> {
  written.stdout = '';
  assert.equal(await imageCommand({ ...FOLDERS, ...verb }, context), 0);
  return written.stdout;
}

const load = (archive: string): Verb => ({ verb: 'load', archive });
const namesOf = (table: string) => [...table.matchAll(/localhost\/\S+/g)].map(([name]) => name);

test('image load takes an archive in, and ls shows its names', async () => {
  const scripted = await machine();
  assert.match(await run(scripted, load('/a/app.tar')), /^localhost\/app:1 loaded \(\w{12}\)\nlocalhost\/app:2 loaded/);
  assert.deepEqual(namesOf(await run(scripted, { verb: 'ls' })), ['localhost/app:1', 'localhost/app:2']);
});

test('image rm takes a name away, and the image with the last one', async () => {
  const scripted = await machine();
  await run(scripted, load('/a/app.tar'));
  assert.equal(await run(scripted, { verb: 'rm', images: ['localhost/app:1'] }), 'localhost/app:1 removed\n');
  assert.deepEqual(namesOf(await run(scripted, { verb: 'ls' })), ['localhost/app:2']);
  await run(scripted, { verb: 'rm', images: ['localhost/app:2'] });
  assert.deepEqual(namesOf(await run(scripted, { verb: 'ls' })), []);
});

test('image rm takes an image away with all its names when it is called by its id', async () => {
  const scripted = await machine();
  const id = /\((\w+)\)/.exec(await run(scripted, load('/a/app.tar')))?.[1] ?? '';
  await run(scripted, { verb: 'rm', images: [id] });
  assert.deepEqual(namesOf(await run(scripted, { verb: 'ls' })), []);
});

test('image load reads standard input, and leaves nothing of it nor of one that was killed', async () => {
  let input = new Uint8Array();
  const scripted = await machine({
    terminal: {
      async *input() {
        yield input;
      },
    },
  });
  input = scripted.archive.slice();
  const { fs } = scripted.host;
  await fs.makeDirectory('/proc/77');
  await fs.makeDirectory(FOLDERS.rootDir);
  for (const pid of [76, 77]) await fs.writeFile(`${FOLDERS.rootDir}/image-${pid}.tar`, '');
  assert.match(await run(scripted, load('-')), /^localhost\/app:1 loaded/);
  const left = (await fs.readDirectory(FOLDERS.rootDir)).map(({ name }) => name).sort();
  assert.deepEqual(left, ['image-77.tar', 'runtime']);
});

const refused: Record<string, { verb: Verb; options?: ScriptedContextOptions; message: string }> = {
  'a file that is no archive': {
    verb: load('/a/passwd'),
    message: 'cannot load /a/passwd: it is not an image archive (tar, gzip or zstd)',
  },
  'a file that is not there': { verb: load('/a/none.tar'), message: 'cannot load /a/none.tar: no such file' },
  'standard input that is no archive': {
    verb: load('-'),
    options: {
      terminal: {
        async *input() {
          yield new TextEncoder().encode('hello');
        },
      },
    },
    message: 'cannot load standard input: it is not an image archive (tar, gzip or zstd)',
  },
  'an image that is not here': { verb: { verb: 'rm', images: ['none:1'] }, message: 'no image "none:1"' },
  'a user who is not root': {
    verb: { verb: 'ls' },
    options: { isRoot: false },
    message: 'only root can run containers; try again with sudo',
  },
};

for (const [what, { verb, options, message }] of Object.entries(refused)) {
  test(`image refuses ${what}`, async () => {
    const scripted = await machine(options);
    await scripted.host.fs.writeFile('/a/passwd', 'root:x:0:0:root:/root:/bin/bash\n'.repeat(20));
    await assert.rejects(run(scripted, verb), { message });
  });
}
