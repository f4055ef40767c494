import type { FieldKind, StructSchema } from '../config/field-schema.ts';
import type { DocumentKind } from '../config/parse-config-document.ts';

const STRING: FieldKind = { kind: 'string' };
const STRINGS: FieldKind = { kind: 'list', of: STRING };
const BOOL: FieldKind = { kind: 'bool' };
const INT32: FieldKind = { kind: 'int32' };

/**
 * The file of `nodelet cri --config`. Fields beside the handlers have the flag of the same meaning; those of a handler are
 * containerd's (`runtimes.NAME`) in camel case. Unlike in KubeletConfiguration, an unknown field is an error: most fields
 * restrict what a container may do.
 */
export const RUNTIME_CONFIGURATION: DocumentKind = {
  apiVersion: 'runtime.nodelet.io/v1alpha1',
  kind: 'RuntimeConfiguration',
  structs: {
    RuntimeConfiguration: struct({
      rootDir: STRING,
      stateDir: STRING,
      listen: STRING,
      metricsListen: STRING,
      cniConfDir: STRING,
      cniBinDirs: STRINGS,
      cniMaxConfNum: INT32,
      cgroupDriver: STRING,
      nriSocket: STRING,
      registryConfigDirs: STRINGS,
      verbosity: INT32,
      defaultRuntimeHandler: STRING,
      runtimeHandlers: { kind: 'map', of: { kind: 'struct', name: 'RuntimeHandler' } },
    }),
    RuntimeHandler: struct({
      runtimePath: STRING,
      runtimeRoot: STRING,
      cgroupDriver: STRING,
      cgroupWritable: BOOL,
      privilegedWithoutHostDevices: BOOL,
      privilegedWithoutHostDevicesAllDevicesAllowed: BOOL,
      podAnnotations: STRINGS,
      containerAnnotations: STRINGS,
      cniConfDir: STRING,
      cniMaxConfNum: INT32,
      baseRuntimeSpec: STRING,
    }),
  },
  isStrict: true,
  description: 'runtime config file',
};

function struct(fields: Readonly<Record<string, FieldKind>>): StructSchema {
  return new Map(Object.entries(fields).map(([name, type]) => [name, { type, explicitZero: true }]));
}
