import { MetricType } from '../../cri/generated/runtime-v1.ts';
import type { InterfaceCounters } from '../../host/network-namespaces.ts';
import type { MetricRow } from './metric-row.ts';

type Row = MetricRow<readonly InterfaceCounters[]>;

const interfaceCounter = (name: string, help: string, value: (each: InterfaceCounters) => bigint): Row => ({
  name: `container_network_${name}_total`,
  help,
  type: MetricType.COUNTER,
  labelKeys: ['interface'],
  values: (interfaces) =>
    interfaces.filter((each) => each.name !== 'lo').map((each) => ({ labels: [each.name], value: value(each) })),
});

/** Metrics of a pod's network, which its containers share. */
export const NETWORK_METRICS: readonly Row[] = [
  interfaceCounter('receive_bytes', 'Cumulative count of bytes received', ({ received }) => received.bytes),
  interfaceCounter('receive_packets', 'Cumulative count of packets received', ({ received }) => received.packets),
  interfaceCounter(
    'receive_packets_dropped',
    'Cumulative count of packets dropped while receiving',
    ({ received }) => received.dropped,
  ),
  interfaceCounter(
    'receive_errors',
    'Cumulative count of errors encountered while receiving',
    ({ received }) => received.errors,
  ),
  interfaceCounter('transmit_bytes', 'Cumulative count of bytes transmitted', ({ sent }) => sent.bytes),
  interfaceCounter('transmit_packets', 'Cumulative count of packets transmitted', ({ sent }) => sent.packets),
  interfaceCounter(
    'transmit_packets_dropped',
    'Cumulative count of packets dropped while transmitting',
    ({ sent }) => sent.dropped,
  ),
  interfaceCounter(
    'transmit_errors',
    'Cumulative count of errors encountered while transmitting',
    ({ sent }) => sent.errors,
  ),
];
