import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { fakeImageOperations } from '../../app/embedded/fake/fake-image-operations.ts';
import { serveImages } from '../../app/embedded/image-api.ts';
import type { ImageOperations } from '../../app/embedded/image-operations.ts';
import { goArchitecture } from '../../base/go/go-architecture.ts';
import { CriError } from '../../cri/cri-error.ts';
import { buildLayer, buildOciArchive } from '../../runtime/images/fake/image-archives.ts';
import { type ScriptedContext, type ScriptedContextOptions, scriptedContext } from '../fake/scripted-context.ts';
import type { ImageOptions } from '../options/image-options.ts';
import type { RuntimeFolders } from '../options/runtime-options.ts';
import { imageCommand } from './image-command.ts';

const FOLDERS = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
/** As the command line has it, without the folders. */
type Verb = DistributiveOmit<ImageOptions, keyof RuntimeFolders>;

const LS: Verb = { verb: 'ls', format: 'table', digests: false, whole: false };
const PULL = {
  verb: 'pull',
  images: ['app:1'],
  quiet: false,
  username: undefined,
  platform: undefined,
  registryConfigDirs: undefined,
} as const;
const SAVE = { verb: 'save', images: ['app:1'], output: '/a/out.tar' } as const;
const load = (archive: string): Verb => ({ verb: 'load', archive });
const rm = (...images: string[]): Verb => ({ verb: 'rm', images, force: false });

const textInput = (text: string): ScriptedContextOptions => ({
  terminal: {
    async *input() {
      yield new TextEncoder().encode(text);
    },
  },
});

/** A machine with an archive of one image that has two names. */
async function machine(options: ScriptedContextOptions = {}): Promise<ScriptedContext & { archive: Uint8Array }> {
  const scripted = scriptedContext(options);
  const archive = await buildOciArchive({
    names: ['localhost/app:1', 'localhost/app:2'],
    layers: [await buildLayer({ sh: 'shell' })],
    architecture: goArchitecture(),
  });
  await scripted.host.fs.makeDirectory('/a');
  await scripted.host.fs.writeFile('/a/app.tar', archive);
  return { ...scripted, archive };
}

/** A machine with a scripted runtime. */
async function served(operations: Partial<ImageOperations>, options: ScriptedContextOptions = {}) {
  const scripted = await machine(options);
  const { host } = scripted;
  await host.fs.makeDirectory(FOLDERS.stateDir);
  const owner = { pid: 42, use: 'agent' } as const;
  await serveImages(host, `${FOLDERS.stateDir}/runtime.sock`, Promise.resolve(fakeImageOperations(operations)), owner);
  return scripted;
}

/** What it prints. */
async function run({ context, written }: ScriptedContext, verb: Verb, exitCode = 0): Promise<string> {
  written.stdout = '';
  assert.equal(await imageCommand({ ...FOLDERS, ...verb }, context), exitCode);
  return written.stdout;
}

const namesOf = (table: string) =>
  [...table.matchAll(/^(localhost\/\S+) +(\S+)/gm)].map(([, name, tag]) => `${name}:${tag}`);

test('image load names what the archive named, and no name that the image had before', async () => {
  const scripted = await machine();
  await run(scripted, load('/a/app.tar'));
  await run(scripted, { verb: 'tag', image: 'localhost/app:1', name: 'localhost/mine:3' });
  assert.match(
    await run(scripted, load('/a/app.tar')),
    /^localhost\/app:1 loaded \(\w{12}\)\nlocalhost\/app:2 loaded \(\w{12}\)\n$/,
  );
});

test('image load takes an archive in, and ls shows its names', async () => {
  const scripted = await machine();
  assert.match(await run(scripted, load('/a/app.tar')), /^localhost\/app:1 loaded \(\w{12}\)\nlocalhost\/app:2 loaded/);
  assert.deepEqual(namesOf(await run(scripted, LS)), ['localhost/app:1', 'localhost/app:2']);
});

test('image rm takes a name away, and the image with the last one', async () => {
  const scripted = await machine();
  await run(scripted, load('/a/app.tar'));
  assert.equal(await run(scripted, rm('localhost/app:1')), 'localhost/app:1 removed\n');
  assert.deepEqual(namesOf(await run(scripted, LS)), ['localhost/app:2']);
  await run(scripted, rm('localhost/app:2'));
  assert.deepEqual(namesOf(await run(scripted, LS)), []);
});

test('image rm takes an image away with all its names when it is called by its id', async () => {
  const scripted = await machine();
  const id = /\((\w+)\)/.exec(await run(scripted, load('/a/app.tar')))?.[1] ?? '';
  await run(scripted, rm(id));
  assert.deepEqual(namesOf(await run(scripted, LS)), []);
});

test('image rm tries all and reports missing ones', async () => {
  const scripted = await machine();
  await run(scripted, load('/a/app.tar'));
  assert.equal(await run(scripted, rm('none:1', 'localhost/app:1'), 1), 'localhost/app:1 removed\n');
  assert.equal(scripted.written.stderr, 'nodelet image: image "none:1" not found\n');
});

test('image rm --force does not mind what is not here', async () => {
  const scripted = await machine();
  await run(scripted, load('/a/app.tar'));
  const force: Verb = { verb: 'rm', images: ['none:1', 'localhost/app:1'], force: true };
  assert.equal(await run(scripted, force), 'localhost/app:1 removed\n');
  assert.equal(scripted.written.stderr, '');
});

for (const [what, packed] of Object.entries({
  plain: (data: Uint8Array) => data,
  gzip: gzipSync,
  zstd: zstdCompressSync,
})) {
  test(`image load reads standard input, ${what}, and leaves nothing of it`, async () => {
    let input = new Uint8Array();
    const scripted = await machine({
      terminal: {
        async *input() {
          for (let at = 0; at < input.byteLength; at += 700) yield input.subarray(at, at + 700);
        },
      },
    });
    input = new Uint8Array(packed(scripted.archive));
    assert.match(await run(scripted, load('-')), /^localhost\/app:1 loaded/);
    const { fs } = scripted.host;
    assert.deepEqual(await fs.readDirectory(`${FOLDERS.rootDir}/runtime/storage/unfinished`), []);
  });
}

test('image pull prints what it brought, and on stderr each layer', async () => {
  const layer = { digest: `sha256:${'a'.repeat(64)}`, sizeBytes: 2_000_000 };
  const scripted = await served({
    async pull({ image, auth }, _, watch) {
      assert.deepEqual([image, auth], ['app:1', undefined]);
      watch?.({ kind: 'resolved', digest: 'sha256:1', source: 'https://r/v2', layers: [layer] });
      watch?.({ kind: 'layer', digest: layer.digest, state: { phase: 'done' } });
      return { name: 'docker.io/library/app:1', id: `sha256:${'b'.repeat(64)}` };
    },
  });
  assert.equal(await run(scripted, PULL), 'docker.io/library/app:1 pulled (bbbbbbbbbbbb)\n');
  assert.equal(scripted.written.stderr, 'aaaaaaaaaaaa  done  2.0MB\n');
});

test('image pull --quiet prints the names alone, and tries all', async () => {
  const scripted = await served({
    async pull({ image }) {
      if (image === 'none:1') throw new CriError('NotFound', 'none:1: not found');
      return { name: `docker.io/library/${image}`, id: 'sha256:1' };
    },
  });
  const images = ['a:1', 'none:1', 'b:1'];
  const said = await run(scripted, { ...PULL, images, quiet: true }, 1);
  assert.equal(said, 'docker.io/library/a:1\ndocker.io/library/b:1\n');
  assert.equal(scripted.written.stderr, 'nodelet image: none:1: not found\n');
});

test("image pull logs in with the password on standard input, or with docker's login", async () => {
  const logins: unknown[] = [];
  const operations: Partial<ImageOperations> = {
    async pull({ auth }) {
      logins.push([auth?.username, auth?.password]);
      return { name: 'x', id: 'sha256:1' };
    },
  };
  await run(await served(operations, textInput('secret \n')), { ...PULL, username: 'me' });
  const other = await served(operations, { env: { DOCKER_CONFIG: '/a' } });
  const auth = Buffer.from('you:hidden').toString('base64');
  await other.host.fs.writeFile('/a/config.json', JSON.stringify({ auths: { 'r.example': { auth } } }));
  await run(other, { ...PULL, images: ['r.example/app:1'] });
  assert.deepEqual(logins, [
    ['me', 'secret '],
    ['you', 'hidden'],
  ]);
});

test('image pull is given up by Ctrl-C, also in the runtime', async () => {
  const [begun, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const scripted = await served({
    pull(_, signal) {
      begun.resolve();
      signal.addEventListener('abort', () => gone.resolve());
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const pulled = run(scripted, PULL);
  await begun.promise;
  scripted.interrupt();
  await assert.rejects(pulled, { message: 'interrupted; layers that are whole stay for the next try', exitCode: 1 });
  await gone.promise;
});

test('image load is given up by Ctrl-C while it waits for its input', async () => {
  const begun = Promise.withResolvers<void>();
  const scripted = await machine({
    terminal: {
      async *input() {
        begun.resolve();
        await new Promise(() => {});
      },
    },
  });
  const loaded = run(scripted, load('-'));
  await begun.promise;
  scripted.interrupt();
  await assert.rejects(loaded, { message: 'interrupted' });
});

async function* archiveOf(...pieces: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield new TextEncoder().encode(piece);
  }
}

test('image save writes a file that only root reads, in the place of an old one', async () => {
  const asked: unknown[] = [];
  const scripted = await served({
    save(request) {
      asked.push(request);
      return archiveOf('one ', 'two');
    },
  });
  const { fs } = scripted.host;
  await fs.writeFile('/a/old.tar', 'old', { mode: 0o644 });
  await fs.symbolicLink('old.tar', '/a/link.tar');
  assert.equal(await run(scripted, { ...SAVE, output: '/a/link.tar' }), '/a/link.tar written (7B)\n');
  assert.deepEqual(asked, [{ images: ['app:1'] }]);
  assert.equal(await fs.readText('/a/old.tar'), 'one two');
  assert.equal((await fs.stat('/a/old.tar'))?.mode, 0o600);
  assert.equal((await fs.lstat('/a/link.tar'))?.kind, 'symlink');
});

test('image save writes to standard output', async () => {
  const scripted = await served({ save: () => archiveOf('one ', 'two') });
  assert.equal(await run(scripted, { ...SAVE, output: '-' }), 'one two');
});

test('image save says when there is no room for the archive, and leaves nothing of it', async () => {
  const scripted = await served({ save: () => archiveOf('one') });
  const { fs } = scripted.host;
  fs.errors.failNext('appendFile', 'ENOSPC');
  await assert.rejects(run(scripted, SAVE), { message: 'cannot write /a/out.tar: no space left on device' });
  assert.deepEqual(
    (await fs.readDirectory('/a')).map(({ name }) => name),
    ['app.tar'],
  );
});

test('image save leaves nothing of an archive that broke off, and the old one as it was', async () => {
  const broken = new CriError('DataLoss', 'a layer was changed');
  const scripted = await served({ save: () => archiveOf('one', broken) });
  const { fs } = scripted.host;
  await fs.writeFile('/a/out.tar', 'old');
  await assert.rejects(run(scripted, SAVE), { message: 'a layer was changed' });
  assert.equal(await fs.readText('/a/out.tar'), 'old');
  assert.deepEqual(
    (await fs.readDirectory('/a')).map(({ name }) => name),
    ['app.tar', 'out.tar'],
  );
});

test('image save leaves nothing when it is given up', async () => {
  const begun = Promise.withResolvers<void>();
  const scripted = await served({
    async *save() {
      yield new Uint8Array(10);
      begun.resolve();
      await new Promise(() => {});
    },
  });
  const saved = run(scripted, SAVE);
  await begun.promise;
  scripted.interrupt();
  await assert.rejects(saved, { message: 'interrupted', exitCode: 1 });
  const left = await scripted.host.fs.readDirectory('/a');
  assert.deepEqual(
    left.map(({ name }) => name),
    ['app.tar'],
  );
});

test('image tag and build-from-rootfs print the full name', async () => {
  const scripted = await machine();
  const { fs } = scripted.host;
  await fs.makeDirectory('/rootfs');
  await fs.writeFile('/rootfs/sh', 'shell');
  const config = { cmd: ['sh'], entrypoint: [], env: [], user: '', workingDir: '' };
  const made = await run(scripted, { verb: 'build-from-rootfs', rootfs: '/rootfs', name: 'localhost/tools', config });
  assert.match(made, /^localhost\/tools:latest made \(\w{12}\)\n$/);
  const id = /\((\w+)\)/.exec(made)?.[1];
  const tagged = await run(scripted, { verb: 'tag', image: 'localhost/tools', name: 'tools' });
  assert.equal(tagged, `docker.io/library/tools:latest is ${id}\n`);
});

const refused: Record<string, { verb: Verb; options?: ScriptedContextOptions; message: string; exitCode?: number }> = {
  'a file that is no archive': {
    verb: load('/a/passwd'),
    message: 'cannot load /a/passwd: it is not an image archive (tar, gzip or zstd)',
  },
  'a file that is not there': { verb: load('/a/none.tar'), message: 'cannot load /a/none.tar: no such file' },
  'a folder': { verb: load('/a'), message: 'cannot load /a: it is a folder' },
  'a socket': {
    verb: load('/a/socket'),
    message: "cannot load /a/socket: it is no file; pipe it in, with '-' for its name",
  },
  'standard input that is no archive': {
    verb: load('/dev/stdin'),
    options: textInput('hello'),
    message: 'cannot load standard input: it is not an image archive (tar, gzip or zstd)',
  },
  'to load from a terminal': {
    verb: load('-'),
    options: { terminal: { inputIsTerminal: true } },
    message: 'there is no archive on a terminal: name a file, or pipe one in',
    exitCode: 2,
  },
  'an image that is not here': { verb: rm('none:1'), message: 'image "none:1" not found' },
  'a user who is not root': {
    verb: LS,
    options: { isRoot: false },
    message: 'only root can run containers; try again with sudo',
    exitCode: 1,
  },
  'an invalid name': {
    verb: { ...PULL, images: ['App'] },
    message: '"App" is not the name of an image',
    exitCode: 2,
  },
  'a platform that is not here': {
    verb: { ...PULL, platform: 'linux/s390x' },
    message: `only images for linux/${goArchitecture()} run on this machine, and only those are pulled`,
    exitCode: 2,
  },
  'one login for two registries': {
    verb: { ...PULL, images: ['app:1', 'quay.io/app:1'], username: 'me' },
    options: textInput('secret'),
    message: 'one login is for one registry, and these are docker.io, quay.io',
    exitCode: 2,
  },
  'an empty password': {
    verb: { ...PULL, username: 'me' },
    options: textInput('\n'),
    message: 'there is no password on standard input',
    exitCode: 2,
  },
  'a password that is typed': {
    verb: { ...PULL, username: 'me' },
    options: { terminal: { inputIsTerminal: true } },
    message: '--password-stdin reads no terminal: pipe the password in',
    exitCode: 2,
  },
  'an archive on a terminal': {
    verb: { ...SAVE, output: '-' },
    options: { terminals: ['stdout'] },
    message: 'an archive is not for a terminal: give -o FILE, or redirect standard output',
    exitCode: 2,
  },
  'an archive in the place of a folder': {
    verb: { ...SAVE, output: '/a' },
    message: 'cannot write /a: it is a folder',
    exitCode: 2,
  },
  'an archive in a folder that is not there': {
    verb: { ...SAVE, output: '/b/out.tar' },
    message: 'cannot write /b/out.tar: there is no folder /b',
    exitCode: 2,
  },
  'an archive in the place of a socket': {
    verb: { ...SAVE, output: '/a/socket' },
    message: 'cannot write /a/socket: it is no file; redirect standard output to it',
    exitCode: 2,
  },
};

for (const [what, { verb, options, message, exitCode }] of Object.entries(refused)) {
  test(`image refuses ${what}`, async () => {
    const scripted = await machine(options);
    await scripted.host.fs.writeFile('/a/passwd', 'root:x:0:0:root:/root:/bin/bash\n'.repeat(20));
    scripted.host.fs.createSocket('/a/socket', 0o600);
    await assert.rejects(run(scripted, verb), { message, ...(exitCode && { exitCode }) });
  });
}
