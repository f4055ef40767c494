import { type Command, Option } from 'commander';
import { DEFAULT_RUNTIME_CONFIG } from '../../app/embedded/embedded-settings.ts';
import { folder, folders } from './option-values.ts';

/** The folders of a runtime: of every command that has one, or talks to one. */
export interface RuntimeFolders {
  readonly rootDir: string;
  readonly stateDir: string;
}

export interface FolderFlags {
  readonly root: string;
  readonly state: string;
}

/** For every command that has a runtime, or talks to one. */
export function withFolderOptions(command: Command): Command {
  return command
    .option('--root <dir>', 'persistent data: images, volumes, logs', folder, '/var/lib/nodelet')
    .option('--state <dir>', 'data that a reboot clears: sockets, running containers', folder, '/run/nodelet');
}

/** Of everything that pulls. */
export function registryConfigDirs(): Option {
  const { registryConfigDirs: usual } = DEFAULT_RUNTIME_CONFIG;
  return registryConfigDirsIfGiven().default(usual, usual.join(':'));
}

export function registryConfigDirsIfGiven(): Option {
  const what = 'mirrors and authorities of registries, <registry>/hosts.toml; several folders separated by colons';
  return new Option('--registry-config-dir <dirs>', what).argParser(folders);
}
