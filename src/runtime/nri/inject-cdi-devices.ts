import { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { applyCdiEdits } from '../spec/apply-cdi-edits.ts';
import { gatherCdiEdits } from '../spec/gather-cdi-edits.ts';
import type { InjectCdiDevices } from './relay-create.ts';

/** Injects CDI devices that plugins name, from the same directories as those of containers. */
export function createCdiInjector(folders: readonly string[], fs: FileSystem): InjectCdiDevices {
  return async (spec, names) => {
    const asking = ContainerConfig.fromPartial({ CDIDevices: names.map((name) => ({ name })) });
    return applyCdiEdits(spec, await gatherCdiEdits(asking, folders, fs));
  };
}
