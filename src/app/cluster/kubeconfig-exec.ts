import { resolve } from 'node:path/posix';
import type { ExecApiVersion, ExecPlugin } from '../../kubelet/api-client/client-config.ts';
import type { KubeconfigCluster, KubeconfigExec } from './kubeconfig-document.ts';

const API_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
const EXTENSION = 'client.authentication.k8s.io/exec';

/** Validates an exec plugin, with client-go's messages. */
export function execErrors(name: string, exec: KubeconfigExec): string[] {
  const { apiVersion, command, env, interactiveMode } = exec;
  const needs = (what: string): string => `${what} must be specified for ${name} to use exec authentication plugin`;
  const isOld = apiVersion === API_VERSIONS[1];
  return [
    ...(command === '' ? [needs('command')] : []),
    ...(apiVersion === '' ? [needs('apiVersion')] : []),
    ...(apiVersion !== '' && !versionOf(apiVersion)
      ? [`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`]
      : []),
    ...(env.some((each) => each.name === '') ? [needs('env variable name')] : []),
    ...(interactiveMode === '' && !isOld ? [needs('interactiveMode')] : []),
    ...interactiveModeErrors(name, interactiveMode),
  ];
}

function interactiveModeErrors(name: string, mode: string): string[] {
  if (['', 'Never', 'IfAvailable'].includes(mode)) return [];
  return mode === 'Always'
    ? ['exec plugin cannot support interactive mode: standard input is not a terminal']
    : [`invalid interactiveMode for ${name}: ${JSON.stringify(mode)}`];
}

/** Converts a valid entry. A command without a slash is looked up in PATH when it is run. */
export function execPlugin(exec: KubeconfigExec, cluster: KubeconfigCluster, folder: string): ExecPlugin {
  const { apiVersion, command, args, env, installHint, provideClusterInfo } = exec;
  return {
    apiVersion: versionOf(apiVersion) ?? API_VERSIONS[0],
    command: command.includes('/') ? resolve(folder, command) : command,
    args,
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    installHint,
    ...(provideClusterInfo && { cluster: clusterInfo(cluster) }),
  };
}

function versionOf(apiVersion: string): ExecApiVersion | undefined {
  return API_VERSIONS.find((each) => each === apiVersion);
}

/** Omits the certificate authority, which may be a file that changes. */
function clusterInfo(cluster: KubeconfigCluster): Readonly<Record<string, unknown>> {
  const { server, extensions, 'tls-server-name': serverName, 'proxy-url': proxy } = cluster;
  const config = extensions.find(({ name }) => name === EXTENSION)?.extension;
  return {
    server,
    ...(serverName !== '' && { 'tls-server-name': serverName }),
    ...(cluster['insecure-skip-tls-verify'] && { 'insecure-skip-tls-verify': true }),
    ...(proxy !== '' && { 'proxy-url': proxy }),
    ...(cluster['disable-compression'] && { 'disable-compression': true }),
    config: config ?? null,
  };
}
