import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';

/** How to reach a pod: its address, then a command for each declared TCP port. Empty before it has an address. */
export function podSummary({ spec }: Pod, status: PodStatus): string[] {
  const ip = status.podIPs?.[0]?.ip ?? status.podIP;
  if (!ip) return [];
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const ports = [...sidecars, ...spec.containers]
    .flatMap((container) => container.ports ?? [])
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .map(({ containerPort }) => containerPort);
  const host = ip.includes(':') ? `[${ip}]` : ip;
  return [`IP ${ip}`, ...[...new Set(ports)].map((port) => `curl http://${host}:${port}/`)];
}
