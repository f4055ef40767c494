import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ScriptedContext, type ScriptedContextOptions, scriptedContext } from '../fake/scripted-context.ts';
import type { CriOptions } from './cri.ts';
import { criCommand } from './cri-command.ts';

const SOCKET = '/run/nodelet/cri.sock';

const OPTIONS: CriOptions = {
  rootDir: '/var/lib/nodelet',
  stateDir: '/run/nodelet',
  listen: `unix://${SOCKET}`,
  cniConfDir: '/etc/cni/net.d',
  cniBinDirs: [],
  config: undefined,
  given: new Set<string>(),
  programs: new Map(),
  nriSocket: undefined,
  metricsListen: undefined,
  registryConfigDirs: [],
  cgroupDriver: 'cgroupfs',
  verbosity: 0,
};

interface RejectedCase {
  readonly flags?: Partial<CriOptions>;
  readonly options?: ScriptedContextOptions;
  readonly prepare?: (scripted: ScriptedContext) => Promise<unknown>;
  readonly message: string;
  readonly exitCode?: number;
}

const rejected: Record<string, RejectedCase> = {
  'a user who is not root': {
    options: { isRoot: false },
    message: 'only root can run containers; try again with sudo',
  },
  'another system': { options: { platform: 'darwin' }, message: 'containers need Linux, and this is darwin' },
  'a socket that another serves': {
    prepare: ({ host }) => host.network.serve({ socketPath: SOCKET, mode: 0o600 }, async () => assert.fail()),
    message: `another runtime serves ${SOCKET}`,
  },
  'a configuration file with errors': {
    flags: { config: '/run/nodelet/runtime.yaml' },
    prepare: ({ host }) =>
      host.fs.writeFile('/run/nodelet/runtime.yaml', 'apiVersion: runtime.nodelet.io/v1alpha1\nrot: /r\nstatedir: /s'),
    message: [
      '/run/nodelet/runtime.yaml:1:1: kind: expected "RuntimeConfiguration", found none',
      '/run/nodelet/runtime.yaml:2:1: rot: unknown field "rot"',
      '/run/nodelet/runtime.yaml:3:1: statedir: unknown field "statedir"; did you mean "stateDir"?',
    ].join('\n'),
    exitCode: 2,
  },
  'a socket of the configuration file that another serves': {
    flags: { config: '/run/nodelet/runtime.yaml', listen: 'unix:///run/other.sock' },
    prepare: async ({ host }) => {
      const text = `apiVersion: runtime.nodelet.io/v1alpha1\nkind: RuntimeConfiguration\nlisten: unix://${SOCKET}`;
      await host.fs.writeFile('/run/nodelet/runtime.yaml', text);
      await host.network.serve({ socketPath: SOCKET, mode: 0o600 }, async () => assert.fail());
    },
    message: `another runtime serves ${SOCKET}`,
  },
  'a file where the socket should be': {
    prepare: ({ host }) => host.fs.writeFile(SOCKET, 'notes'),
    message: `--listen: ${SOCKET} exists and is not a socket`,
    exitCode: 2,
  },
};

for (const [what, { flags, options, prepare, message, exitCode = 1 }] of Object.entries(rejected)) {
  test(`cri refuses ${what}, and touches nothing`, async () => {
    const scripted = scriptedContext(options);
    const { fs } = scripted.host;
    await fs.makeDirectory('/run/nodelet');
    await prepare?.(scripted);
    const before = await fs.lstat(SOCKET);
    await assert.rejects(criCommand({ ...OPTIONS, ...flags }, scripted.context), {
      name: 'CommandError',
      message,
      exitCode,
    });
    assert.deepEqual(await fs.lstat(SOCKET), before);
    assert.equal(await fs.stat(OPTIONS.rootDir), undefined);
  });
}
