import type { ImageConfig } from './image-store.ts';
import { asObject, parseObject, stringField, stringList, stringMap } from './json-fields.ts';

/** The parts of an image's configuration that the runtime uses. https://github.com/opencontainers/image-spec */
export interface ParsedConfig {
  readonly config: ImageConfig;
  /** One for each layer, lowest first. */
  readonly diffIds: readonly string[];
}

/** Throws `SyntaxError` if the data is not an image configuration. */
export function parseImageConfig(data: Uint8Array): ParsedConfig {
  const whole = parseObject(data, 'image configuration');
  const rootfs = asObject(whole['rootfs']);
  if (stringField(rootfs, 'type') !== 'layers')
    throw new SyntaxError('image configuration: rootfs.type is not "layers"');
  const config = asObject(whole['config']);
  return {
    config: {
      user: stringField(config, 'User'),
      env: stringList(config, 'Env'),
      entrypoint: stringList(config, 'Entrypoint'),
      cmd: stringList(config, 'Cmd'),
      workingDir: stringField(config, 'WorkingDir'),
      stopSignal: stringField(config, 'StopSignal'),
      volumes: Object.keys(asObject(config?.['Volumes']) ?? {}),
      labels: stringMap(config, 'Labels'),
    },
    diffIds: stringList(rootfs, 'diff_ids'),
  };
}
