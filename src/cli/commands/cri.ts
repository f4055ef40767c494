import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type FlaggedFields,
  isEndpoint,
  isHandlerName,
  METRICS_ADDRESS,
  type MetricsAddress,
  metricsAddress,
  type RuntimeFlags,
} from '../../app/runtime-config/runtime-configuration.ts';
import { folder, folders, wholeNumber } from '../options/option-values.ts';
import { type FolderFlags, registryConfigDirs, withFolderOptions } from '../options/runtime-options.ts';
import type { CliCommand } from './cli-command.ts';

const CRI_HELP = `
Containers keep running when it stops, and are adopted when it starts.

Examples:
  nodelet cri --listen unix:///run/nodelet/cri.sock
  nodelet cri --config /etc/nodelet/runtime.yaml
  crictl --runtime-endpoint unix:///run/nodelet/cri.sock ps
`;

export type CriOptions = RuntimeFlags;

interface CriFlags extends FolderFlags {
  readonly config?: string;
  readonly listen: string;
  readonly metricsListen?: MetricsAddress;
  readonly cniConfDir: string;
  readonly cniBinDir: readonly string[];
  readonly runtimeHandler: ReadonlyMap<string, string>;
  readonly nriSocket?: string;
  readonly registryConfigDir: readonly string[];
  readonly cgroupDriver: CriOptions['cgroupDriver'];
  readonly v: number;
}

/** The field that each flag sets. */
const FIELDS = {
  root: 'rootDir',
  state: 'stateDir',
  listen: 'listen',
  metricsListen: 'metricsListen',
  cniConfDir: 'cniConfDir',
  cniBinDir: 'cniBinDirs',
  nriSocket: 'nriSocket',
  registryConfigDir: 'registryConfigDirs',
  cgroupDriver: 'cgroupDriver',
  v: 'verbosity',
} as const satisfies Partial<Record<keyof CriFlags, keyof FlaggedFields>>;

export const cri: CliCommand<CriOptions> = {
  name: 'cri',
  define(program, run) {
    withFolderOptions(program.command('cri'))
      .description('Run a CRI runtime, for crictl or another agent.')
      .option('--config <file>', 'a RuntimeConfiguration with more settings of handlers; flags override it', folder)
      .addOption(
        new Option('--listen <endpoint>', 'the socket to serve')
          .argParser(endpoint)
          .default('unix:///run/nodelet/cri.sock'),
      )
      .option(
        '--metrics-listen <address>',
        'serve metrics at /v1/metrics there: 127.0.0.1:1338, :1338 for the same, or a socket (off without it)',
        metricsListen,
      )
      .option('--cni-conf-dir <dir>', 'network configurations', folder, '/etc/cni/net.d')
      .addOption(
        new Option('--cni-bin-dir <dirs>', 'network plugins; several folders separated by colons')
          .argParser(folders)
          .default(['/opt/cni/bin', '/usr/lib/cni'], '/opt/cni/bin:/usr/lib/cni'),
      )
      .addOption(
        new Option('--runtime-handler <name=program...>', 'one more OCI runtime, such as kata=/usr/bin/kata-runtime')
          .argParser(handlers)
          .default(new Map(), 'crun, or runc if crun does not work here'),
      )
      .addOption(
        new Option(
          '--cgroup-driver <driver>',
          'who creates the cgroups of containers: the runtime, or systemd as scopes',
        )
          .choices(['cgroupfs', 'systemd'])
          .default('cgroupfs'),
      )
      .option('--nri-socket <path>', 'let NRI plugins register here (off without it)', folder)
      .addOption(registryConfigDirs())
      .addOption(verbosity())
      .addHelpText('after', CRI_HELP)
      .action((flags: CriFlags, command: Command) => run(criOptions(flags, command)));
  },
  execute: async (options, context) => (await import('./cri-command.ts')).criCommand(options, context),
};

function criOptions(flags: CriFlags, command: Command): CriOptions {
  const isGiven = ([flag]: readonly [string, string]): boolean => command.getOptionValueSource(flag) === 'cli';
  const given = Object.entries(FIELDS).filter(isGiven);
  return {
    config: flags.config,
    given: new Set(given.map(([, field]) => field)),
    programs: flags.runtimeHandler,
    rootDir: flags.root,
    stateDir: flags.state,
    listen: flags.listen,
    metricsListen: flags.metricsListen,
    cniConfDir: flags.cniConfDir,
    cniBinDirs: flags.cniBinDir,
    nriSocket: flags.nriSocket,
    registryConfigDirs: flags.registryConfigDir,
    cgroupDriver: flags.cgroupDriver,
    verbosity: flags.v,
  };
}

function verbosity(): Option {
  return new Option('--v <level>', 'log more: 2 what happens, 4 details').argParser(wholeNumber).default(0);
}

function endpoint(text: string): string {
  if (!isEndpoint(text)) throw new InvalidArgumentError('It must be a socket such as unix:///run/nodelet/cri.sock.');
  return text;
}

function metricsListen(text: string): MetricsAddress {
  const address = metricsAddress(text);
  if (address === undefined) throw new InvalidArgumentError(`It must be ${METRICS_ADDRESS}.`);
  return address;
}

function handlers(text: string, before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, name, program] = /^([^=]*)=(\/.+)$/.exec(text) ?? [];
  if (name === undefined || program === undefined || !isHandlerName(name)) {
    throw new InvalidArgumentError('It must be a name and the path of a program, such as kata=/usr/bin/kata-runtime.');
  }
  return new Map([...before, [name, program]]);
}
