import { type CliCommand, type RegisteredCommand, registerCommand } from './commands/cli-command.ts';
import { cri } from './commands/cri.ts';
import { exec } from './commands/exec.ts';
import { image } from './commands/image.ts';
import { kubelet } from './commands/kubelet.ts';
import { logs } from './commands/logs.ts';
import { ps } from './commands/ps.ts';
import { run } from './commands/run.ts';
import { stop } from './commands/stop.ts';
import { timeline } from './commands/timeline.ts';
import { top } from './commands/top.ts';
import { version } from './commands/version.ts';
import { volume } from './commands/volume.ts';
import { why } from './commands/why.ts';

/** Changes what a command does; tests record its options instead. */
export type WrapCommand = <Options>(command: CliCommand<Options>) => CliCommand<Options>;

/** Every command, in the order of `nodelet --help`. */
export function commandRegistry(wrap: WrapCommand = (command) => command): readonly RegisteredCommand[] {
  return [
    registerCommand(wrap(run)),
    registerCommand(wrap(ps)),
    registerCommand(wrap(logs)),
    registerCommand(wrap(why)),
    registerCommand(wrap(timeline)),
    registerCommand(wrap(top)),
    registerCommand(wrap(exec)),
    registerCommand(wrap(stop)),
    registerCommand(wrap(image)),
    registerCommand(wrap(volume)),
    registerCommand(wrap(cri)),
    registerCommand(wrap(kubelet)),
    registerCommand(wrap(version)),
  ];
}
