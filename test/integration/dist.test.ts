import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { executableUnsupportedReason } from '../../tools/dist-executable.ts';
import { startCollector } from '../traces/otlp-collector.ts';

const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

interface Form {
  readonly name: string;
  readonly skip: string | false;
  readonly file: string;
  /** How a program at that path is started. */
  readonly start: (path: string) => [string, ...string[]];
}

suite('make dist', { timeout: 900_000 }, () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'nodelet-dist-test-')));
  const at = (...names: string[]): string => join(folder, ...names);
  const elsewhere = at('elsewhere');

  /** As on a machine without this checkout. */
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, { cwd: elsewhere, env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' });

  before(() => {
    mkdirSync(at('mount'));
    mkdirSync(elsewhere);
    dist(at('nodelet'), join(root, 'src/main.ts'));
    dist(at('probe'), join(import.meta.dirname, 'dist-probe.ts'));
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  const executable = executableUnsupportedReason() ?? false;
  const mounting = process.getuid?.() === 0 ? false : 'needs root';
  const forms: readonly Form[] = [
    { name: 'the bundle', skip: false, file: 'nodelet.mjs', start: (path) => [process.execPath, path] },
    { name: 'the executable', skip: executable, file: 'nodelet', start: (path) => [path] },
  ];

  for (const { name, skip, file, start } of forms) {
    const command = (built: string) => start(at(built, file));

    test(`${name} prints its version`, { skip }, () => {
      const { status, stdout, stderr } = run(...command('nodelet'), 'version');
      assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: `nodelet ${version}\n`, stderr: '' });
    });

    test(`${name} is kubelet under that name`, { skip }, () => {
      const link = at(`as-kubelet-${file}`, 'kubelet');
      mkdirSync(dirname(link));
      symlinkSync(at('nodelet', file), link);
      const { status, stdout, stderr } = run(...start(link), '--version');
      assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: 'Kubernetes v1.36.4\n', stderr: '' });
    });

    test(`${name} prints its usage`, { skip }, () => {
      const { status, stdout, stderr } = run(...command('nodelet'), '--help');
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
      assert.match(stdout, /nodelet/);
    });

    test(`${name} makes system calls without the checkout`, { skip: skip || mounting }, () => {
      const { status, stdout, stderr } = run(...withOwnRun([...command('probe'), at('mount')]));
      assert.deepEqual(
        { status, stdout, stderr },
        { status: 0, stdout: 'tmpfs nodelet-probe, nsfs nsfs, nsfs nsfs\n', stderr: '' },
      );
      assert.deepEqual(readdirSync(elsewhere), []);
    });

    test(`${name} exports traces without the checkout`, { skip }, async () => {
      const collector = await startCollector();
      try {
        const [program, ...args] = [...command('probe'), 'traces', collector.endpoint];
        const env = { PATH: '/usr/bin:/bin' };
        const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: elsewhere, env });
        assert.deepEqual({ stdout, stderr }, { stdout: '', stderr: '' });
        assert.deepEqual(
          collector.spans.map((span) => span.name),
          ['probe'],
        );
      } finally {
        collector.close();
      }
    });
  }

  test('the library talks to a runtime without the checkout', () => {
    const program = `
      import { connectCri, createLinuxHost } from '${at('nodelet/library.mjs')}';
      const { clock } = createLinuxHost(process.env);
      const cri = connectCri('unix:///none.sock', { clock, runtimeRequestTimeoutMs: 1000 });
      cri.runtime.version({ version: '' }, new AbortController().signal).catch(({ name, code }) => {
        console.log(name, code);
        process.exit(0);
      });`;
    const { stdout, stderr } = run(process.execPath, '--input-type=module', '--eval', program);
    assert.deepEqual({ stdout, stderr }, { stdout: 'CriError Unavailable\n', stderr: '' });
  });

  test('the bundle names the required version on an older Node.js', { skip: olderNodeReason() }, () => {
    const { status, stderr } = run('/usr/bin/env', 'node', at('nodelet/nodelet.mjs'), '--help');
    assert.equal(status, 1);
    assert.match(stderr, /^nodelet: needs Node\.js 24 or newer; this is v\d+/);
  });

  function dist(output: string, entry: string): void {
    execFileSync(process.execPath, [join(root, 'tools/dist.ts'), output, entry], { cwd: root, stdio: 'pipe' });
  }
});

/** With a private empty /run, where its native part is extracted; prints at the end what is left there. */
function withOwnRun(command: readonly string[]): [string, ...string[]] {
  const script = 'mount -t tmpfs tmpfs /run && "$@" && ls -A /run';
  return ['/usr/bin/unshare', '--mount', '/bin/sh', '-c', script, 'sh', ...command];
}

function olderNodeReason(): string | false {
  const { stdout } = spawnSync('/usr/bin/env', ['node', '--version'], {
    env: { PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
  });
  if (!stdout) return 'no other Node.js on this machine';
  return Number.parseInt(stdout.slice(1), 10) < 24 ? false : "this machine's Node.js is new enough";
}
