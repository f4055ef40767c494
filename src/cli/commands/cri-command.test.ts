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
  registryConfigDirs: [],
  cgroupDriver: 'cgroupfs',
  verbosity: 0,
};

interface RejectedCase {
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
  'a file where the socket should be': {
    prepare: ({ host }) => host.fs.writeFile(SOCKET, 'notes'),
    message: `--listen: ${SOCKET} exists and is not a socket`,
    exitCode: 2,
  },
};

for (const [what, { options, prepare, message, exitCode = 1 }] of Object.entries(rejected)) {
  test(`cri refuses ${what}, and touches nothing`, async () => {
    const scripted = scriptedContext(options);
    const { fs } = scripted.host;
    await fs.makeDirectory('/run/nodelet');
    await prepare?.(scripted);
    const before = await fs.lstat(SOCKET);
    await assert.rejects(criCommand(OPTIONS, scripted.context), { name: 'CommandError', message, exitCode });
    assert.deepEqual(await fs.lstat(SOCKET), before);
    assert.equal(await fs.stat(OPTIONS.rootDir), undefined);
  });
}
