import type { ImageConfig } from './image-store.ts';
import { objectOf, parseObject, textField, textList, textMap } from './json-fields.ts';

/** An image's configuration, as far as somebody here looks at it. https://github.com/opencontainers/image-spec */
export interface ParsedConfig {
  readonly config: ImageConfig;
  /** Of the layers, the lowest first. */
  readonly diffIds: readonly string[];
}

/** Throws a `SyntaxError` for what is no configuration of an image. */
export function parseImageConfig(data: Uint8Array): ParsedConfig {
  const whole = parseObject(data, 'image configuration');
  const rootfs = objectOf(whole['rootfs']);
  if (textField(rootfs, 'type') !== 'layers') throw new SyntaxError('image configuration: rootfs.type is not "layers"');
  const config = objectOf(whole['config']);
  return {
    config: {
      user: textField(config, 'User'),
      env: textList(config, 'Env'),
      entrypoint: textList(config, 'Entrypoint'),
      cmd: textList(config, 'Cmd'),
      workingDir: textField(config, 'WorkingDir'),
      stopSignal: textField(config, 'StopSignal'),
      volumes: Object.keys(objectOf(config?.['Volumes']) ?? {}),
      labels: textMap(config, 'Labels'),
    },
    diffIds: textList(rootfs, 'diff_ids'),
  };
}
