import { stringify } from 'yaml';
import type { PodItem, PodList } from '../../kubelet/local-api/local-api-types.ts';
import { createLocalClient } from '../../kubelet/local-api/local-client.ts';
import { localSocket } from '../../kubelet/local-api/local-socket.ts';
import { manifestErrorText } from '../../kubelet/local-api/manifest-error-text.ts';
import { EXIT } from '../options/command-error.ts';
import { type PodRow, podRow } from '../output/pod-row.ts';
import { textTable } from '../output/text-table.ts';
import type { CommandContext } from './command-context.ts';
import type { PsOptions } from './ps.ts';

/** `nodelet ps`: pods on stdout; errors of the node and invalid manifests on stderr. */
export async function psCommand(
  { stateDir, namespace, output }: PsOptions,
  { terminal, host }: CommandContext,
): Promise<number> {
  const client = createLocalClient({ network: host.network, socketPath: localSocket(stateDir) });
  const list = await client.pods(namespace, new AbortController().signal);
  await terminal.stdout.write(listText(list, output, host.clock.now()));
  if (output === 'table' || output === 'wide') {
    if (list.pods.length === 0) await terminal.stderr.write('No resources found.\n');
    for (const error of list.nodeErrors) await terminal.stderr.write(`✗ ${error}\n`);
    for (const { source, errors } of list.manifests) {
      for (const error of errors) await terminal.stderr.write(`${manifestErrorText(source, error)}\n`);
    }
  }
  return EXIT.ok;
}

/** What stdout gets. */
export function listText({ pods }: PodList, output: PsOptions['output'], nowMs: number): string {
  if (output === 'json') return `${JSON.stringify(objectList(pods), undefined, 4)}\n`;
  if (output === 'yaml') return stringify(objectList(pods), { aliasDuplicateObjects: false });
  const rows = pods.map(({ pod, worker }) => podRow(pod, nowMs, worker === 'terminating' || worker === 'terminated'));
  return rows.length === 0 ? '' : podTable(rows, output === 'wide');
}

function objectList(pods: readonly PodItem[]): unknown {
  const items = pods.map(({ pod }) => ({ apiVersion: 'v1', kind: 'Pod', ...pod }));
  return { apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' } };
}

/** The namespace has a column when it is not `default` for all. */
function podTable(rows: readonly PodRow[], wide: boolean): string {
  const withNamespace = rows.some(({ namespace }) => namespace !== 'default');
  const head = ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', ...(wide ? ['IP', 'NODE'] : [])];
  const cells = rows.map((row) => [
    ...(withNamespace ? [row.namespace] : []),
    ...[row.name, row.ready, row.status, row.restarts, row.age],
    ...(wide ? [row.ip, row.node] : []),
  ]);
  return textTable([[...(withNamespace ? ['NAMESPACE'] : []), ...head], ...cells]);
}
