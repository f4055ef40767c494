import { resolve } from 'node:path/posix';
import { deepFreeze } from '../../base/deep-freeze.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ConfigDiagnostic } from './config-diagnostic.ts';
import { warningAt } from './config-diagnostic.ts';
import { resolveFeatureGates } from './feature-gates.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import type { FeatureGates } from './honoured-gates.ts';
import { ipFamily } from './ip-address.ts';
import { type JsonObject, valueAt, withValueAt } from './json-value.ts';
import type { KubeletFlags } from './kubelet-flags.ts';
import { type FieldFlag, mergeConfig } from './merge-config.ts';
import { parseFlags } from './parse-flags.ts';
import { type ParsedConfiguration, parseConfiguration } from './parsed-configuration.ts';
import { readConfigFile, readDropIns, relativeTo } from './read-config-files.ts';
import { validateConfig } from './validate-config.ts';
import { validateFlags } from './validate-flags.ts';

/** The whole configuration of a node agent. Frozen; each part of the program takes the slice that it uses. */
export interface KubeletSettings {
  /** Complete, and in the shape of files: what `/configz` shows. */
  readonly config: KubeletConfiguration;
  /** The texts of `config` as milliseconds, bytes and amounts. */
  readonly parsed: ParsedConfiguration;
  /** Flags that are no part of `config`; their paths are absolute. */
  readonly flags: KubeletFlags;
  /** The flags of the command line by their names, as `/flagz` shows them. */
  readonly flagTexts: Readonly<Record<string, string>>;
  readonly featureGates: FeatureGates;
  /** The name that the node has in the cluster. */
  readonly nodeName: string;
}

export interface LoadDeps {
  readonly fs: FileSystem;
  /** Of the machine. */
  readonly hostname: string;
  /** Lets the checks that depend on it run. */
  readonly cgroupVersion?: 'v1' | 'v2';
}

export interface LoadedConfig {
  readonly settings: KubeletSettings;
  /** If one of them is an error, the settings serve only to report it. */
  readonly diagnostics: readonly ConfigDiagnostic[];
}

/**
 * Reads flags, the file of `--config` and the drop-ins of `--config-dir`, and checks the whole. It never rejects for
 * what they say. With `--help` or `--version` no file is read.
 */
export async function loadKubeletConfig(
  args: readonly string[],
  deps: LoadDeps,
  signal: AbortSignal,
): Promise<LoadedConfig> {
  const { flags, fields, texts: flagTexts, diagnostics: flagDiagnostics } = parseFlags(args);
  const { config: path, configDir, help, version } = flags;
  const wantsFiles = !help && version === false;
  const file = wantsFiles && path !== undefined ? await readConfigFile(path, deps.fs, signal) : unwritten(flags);
  const dropIns = wantsFiles && configDir !== undefined ? await readDropIns(configDir, deps.fs, signal) : [];
  const settings = settle(
    flags,
    fields,
    file.config,
    dropIns.map(({ config }) => config),
    deps.hostname,
  );
  const { config, gates, gateDiagnostics, ...rest } = settings;
  const host = deps.cgroupVersion === undefined ? {} : { cgroupVersion: deps.cgroupVersion };
  const diagnostics = [
    ...flagDiagnostics,
    ...validateFlags(flags),
    ...hostnameDiagnostics(rest.nodeName),
    ...[file, ...dropIns].flatMap((each) => each.diagnostics),
    ...gateDiagnostics,
    ...validateConfig(config, gates, host),
    ...configWarnings(config),
  ];
  return { settings: { config, flagTexts, ...rest }, diagnostics: diagnostics };
}

/**
 * The configuration without a file. As with kubelet, a standalone node uses no webhooks; unlike kubelet's default, anonymous
 * requests stay disabled.
 */
function unwritten({ kubeconfig }: KubeletFlags): {
  readonly config: JsonObject;
  readonly diagnostics: readonly ConfigDiagnostic[];
} {
  const withoutWebhooks = { authentication: { webhook: { enabled: false } }, authorization: { mode: 'AlwaysAllow' } };
  return { config: kubeconfig === undefined ? withoutWebhooks : {}, diagnostics: [] };
}

function settle(
  given: KubeletFlags,
  fields: readonly FieldFlag[],
  file: JsonObject,
  dropIns: readonly JsonObject[],
  hostname: string,
): Omit<KubeletSettings, 'flagTexts'> & {
  readonly gates: ReadonlyMap<string, boolean>;
  readonly gateDiagnostics: readonly ConfigDiagnostic[];
} {
  const config = mergeConfig({ file, dropIns, flags: fields.map(withAbsolutePath) });
  const { gates, diagnostics: gateDiagnostics } = resolveFeatureGates(config.featureGates ?? {});
  return {
    config,
    parsed: Object.freeze(parseConfiguration(config)),
    flags: deepFreeze(withAbsolutePaths(given)),
    featureGates: gates,
    nodeName: (given.hostnameOverride ?? hostname).trim().toLowerCase(),
    gates,
    gateDiagnostics,
  };
}

function hostnameDiagnostics(nodeName: string): readonly ConfigDiagnostic[] {
  return nodeName === '' ? [{ severity: 'error', message: 'empty hostname is invalid' }] : [];
}

function withAbsolutePath({ path, value }: FieldFlag): FieldFlag {
  const resolved = valueAt(relativeTo(resolve(), withValueAt({}, path, value)), path);
  return { path, value: resolved ?? value };
}

const PATH_FLAGS = [
  'config',
  'configDir',
  'kubeconfig',
  'bootstrapKubeconfig',
  'rootDir',
  'certDir',
  'lockFile',
  'imageCredentialProviderBinDir',
  'imageCredentialProviderConfig',
] as const;

function withAbsolutePaths(flags: KubeletFlags): KubeletFlags {
  const given = PATH_FLAGS.flatMap((name) => {
    const path = flags[name];
    return path === undefined ? [] : [[name, resolve(path)] as const];
  });
  return { ...flags, ...Object.fromEntries(given) };
}

/** What is odd about a complete configuration, though kubelet starts with it. */
function configWarnings(config: KubeletConfiguration): readonly ConfigDiagnostic[] {
  const { clusterDNS = [], kubeletCgroups = '', kubeReservedCgroup = '' } = config;
  const warnings = clusterDNS
    .filter((address) => ipFamily(address) === undefined)
    .map((address) => warningAt('clusterDNS', `Invalid clusterDNS IP ${JSON.stringify(address)} is ignored`));
  if (kubeletCgroups !== '' && !kubeletCgroups.startsWith(kubeReservedCgroup)) {
    warnings.push(
      warningAt('kubeletCgroups', 'unsupported configuration:KubeletCgroups is not within KubeReservedCgroup'),
    );
  }
  return warnings;
}
