import { type Command, Option } from 'commander';
import type { Commands } from './commands.ts';
import { ALL_LINES, duration, folder, tailLines, wholeNumber } from './option-values.ts';

type Ended = (exitCode: number) => void;

export interface ClientFlags {
  readonly state: string;
  readonly namespace?: string;
}

/** A command that talks to a running agent. */
export function clientCommand(program: Command, name: string): Command {
  return program
    .command(name)
    .option('-n, --namespace <namespace>', 'look only in this namespace')
    .option('--state <dir>', 'the state folder of the agent', folder, '/run/nodelet');
}

interface PsFlags extends ClientFlags {
  readonly output?: 'wide' | 'json' | 'yaml';
}

/** `nodelet ps` */
export function addPs(program: Command, { ps }: Commands, ended: Ended): void {
  clientCommand(program, 'ps')
    .description('List the pods of the running agent.')
    .addOption(new Option('-o, --output <format>', 'more columns, or whole objects').choices(['wide', 'json', 'yaml']))
    .action(async ({ state: stateDir, namespace, output }: PsFlags) => {
      ended(await ps({ stateDir, namespace, output: output ?? 'table' }));
    });
}

interface LogsFlags extends ClientFlags {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly tail?: number;
  readonly since?: number;
}

/** `nodelet logs` */
export function addLogs(program: Command, { logs }: Commands, ended: Ended): void {
  clientCommand(program, 'logs')
    .description('Print the log of a container.')
    .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
    .option('-c, --container <name>', 'which container of the pod')
    .option('-f, --follow', 'go on until the container ends')
    .addOption(new Option('--tail <lines>', 'only the last lines').argParser(tailLines))
    .addOption(new Option('--since <duration>', 'only what is not older, such as 5m').argParser(duration))
    .option('--timestamps', 'begin each line with its time')
    .option('-p, --previous', 'the container before the one that runs now')
    .addHelpText('after', '\nExample:\n  nodelet logs -f --tail 20 hello -c web\n')
    .action(async (pod: string, flags: LogsFlags) => {
      const { state: stateDir, namespace, container, follow = false, previous = false, timestamps = false } = flags;
      const target = { stateDir, namespace, pod, container };
      const lines = flags.tail === ALL_LINES ? undefined : flags.tail;
      ended(await logs({ ...target, follow, previous, timestamps, tailLines: lines, sinceMs: flags.since }));
    });
}

interface ExecFlags extends ClientFlags {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

/** `nodelet exec` */
export function addExec(program: Command, { exec }: Commands, ended: Ended): void {
  clientCommand(program, 'exec')
    .description('Run a command in a container, and end with its exit code.')
    .argument('<pod>', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('-c, --container <name>', 'which container of the pod')
    .option('-i, --stdin', 'pass what is typed or piped in on to the command')
    .option('-t, --tty', 'give the command a terminal')
    .addHelpText(
      'after',
      '\nExamples:\n  nodelet exec hello -- ls -l /\n  nodelet exec -it hello -c web -- sh\n  echo hi | nodelet exec -i hello -- cat\n',
    )
    .action(async (pod: string, command: string[], flags: ExecFlags) => {
      const { state: stateDir, namespace, container, stdin = false, tty = false } = flags;
      ended(await exec({ stateDir, namespace, pod, container, stdin, tty, command }));
    });
}

interface StopFlags extends ClientFlags {
  readonly all?: boolean;
  readonly gracePeriod?: number;
}

/** `nodelet stop` */
export function addStop(program: Command, { stop }: Commands, ended: Ended): void {
  const command = clientCommand(program, 'stop')
    .description('End pods and wait until nothing of them is left. They come back when their manifest changes.')
    .argument('[pod...]', 'NAME or NAMESPACE/NAME; the name in the manifest will do')
    .option('--all', "every pod, and the 'nodelet run' that runs them")
    .addOption(new Option('--grace-period <seconds>', 'not more time than this to end').argParser(wholeNumber))
    .addHelpText('after', '\nExamples:\n  nodelet stop hello\n  nodelet stop --all --grace-period 1\n');
  command.action(async (pods: string[], { state: stateDir, namespace, all = false, gracePeriod }: StopFlags) => {
    if (all === pods.length > 0) command.error('error: name the pods to stop, or give --all');
    ended(await stop({ stateDir, namespace, pods, graceSeconds: gracePeriod }));
  });
}
