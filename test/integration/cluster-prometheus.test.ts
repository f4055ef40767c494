/** Prometheus scrapes nodes of Nodelet beside one of kubelet; rules and dashboards find the same series on all of them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/api/generated/core-v1.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { type ControlPlane, startControlPlane } from './cluster-fixture.ts';
import { type JudgedNode, NODES, nodesSkipReason, startJudgedPods, startNode } from './judged-nodes.ts';
import { ALERTING_RULES, QUERIES, RECORDING_RULES } from './monitoring-rules.ts';
import { startPodInfoExporter } from './pod-info-exporter.ts';
import { lintMetrics, type Prometheus, prometheusSkipReason, type Series, startPrometheus } from './prometheus.ts';
import { until } from './until.ts';

const REFERENCE = 'kubelet';
const PATHS = ['/metrics', '/metrics/cadvisor', '/metrics/probes', '/metrics/resource', '/metrics/slis'];
/** Of Prometheus, of clients of the text format, without preferences and without the header, and of one that reads JSON alone. */
const ACCEPTED = [
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
  'text/plain;version=0.0.4',
  '*/*',
  '',
  'application/json',
];
/** Of Prometheus with native histograms: kubelet answers with protobuf. */
const PROTOBUF =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3';
/** kubelet's own metrics of a Go process, which no other program can have. */
const OF_GO = /^go_/;
const skip = prometheusSkipReason() || nodesSkipReason();
const SUBJECTS = NODES.filter((name) => name !== REFERENCE);

describe('Prometheus with nodes of kubelet and Nodelet', { skip }, () => {
  const running = new AsyncDisposableStack();
  const nodes = new Map<string, JudgedNode>();
  let plane: ControlPlane;
  let prometheus: Prometheus;
  before(async () => {
    plane = await startControlPlane();
    running.defer(() => plane.stop());
    for (const name of NODES) {
      const node = await startNode(plane, name);
      nodes.set(name, node);
      running.defer(() => node.stop());
    }
    running.defer(() => plane.remove('--all', '--force', '--grace-period=0').catch(() => {})); // its node may be gone
    for (const name of NODES) {
      await startJudgedPods(plane, name);
      await plane.kubectl('get', '--raw', `/api/v1/nodes/${name}/proxy/healthz`); // health checks count when they are asked
    }
    const exporter = await startPodInfoExporter(plane);
    running.defer(() => exporter.stop());
    const groups = [RECORDING_RULES, ALERTING_RULES];
    const addresses = new Map([...nodes].map(([name, { address }]) => [name, address]));
    prometheus = await startPrometheus({ plane, nodes: addresses, paths: PATHS, groups, podInfo: exporter.address });
    running.defer(() => prometheus.stop());
  });
  after(() => running.disposeAsync());

  /** A scrape with the token of Prometheus. */
  async function scrape(node: string, path: string, accept: string) {
    const { status }: Node = JSON.parse(await plane.kubectl('get', 'node', node, '-ojson'));
    const host = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port;
    const headers = { authorization: `Bearer ${prometheus.token}`, ...(accept && { accept }) };
    const ca = readFileSync(plane.authority.caFile);
    return new Promise<{
      readonly status: number | undefined;
      readonly type: string | undefined;
      readonly body: string;
    }>((resolve, reject) => {
      const asked = request({ host, port, path, headers, ca, agent: false }, (response) => {
        const { statusCode, headers } = response;
        text(response).then((body) => resolve({ status: statusCode, type: headers['content-type'], body }), reject);
      });
      asked.once('error', reject).end();
    });
  }

  async function found(expression: string, node: string): Promise<readonly Series[]> {
    const query = expression.replaceAll('$node', node);
    const series = until(async () => presence(await prometheus.query(query)));
    return series.catch((cause: unknown) => {
      throw new Error(`no series is found by ${query}`, { cause });
    });
  }

  test('every target is up', async () => {
    const targets = await until(async () => {
      const all = await prometheus.targets();
      return all.length > 0 && all.every(({ health }) => health !== 'unknown') && all;
    });
    const down = targets.filter(({ health }) => health !== 'up');
    assert.deepEqual(
      down.map(({ labels, lastError }) => [labels['node'], labels['metrics_path'], lastError]),
      [],
    );
    assert.equal(targets.length, NODES.length * PATHS.length + 1);
  });

  describe('queries', { concurrency: true }, () => {
    for (const name of SUBJECTS)
      for (const [what, expression] of Object.entries(QUERIES))
        test(`${name}: ${what}`, async () => {
          const [expected, actual] = await Promise.all([found(expression, REFERENCE), found(expression, name)]);
          assert.deepEqual(labelNames(actual), labelNames(expected));
        });
  });

  for (const name of SUBJECTS)
    for (const path of PATHS)
      test(`${name}: ${path} is in the format of kubelet's, with no finding of promtool beside its`, async (t) => {
        for (const accept of ACCEPTED) {
          const [expected, actual] = await Promise.all([scrape(REFERENCE, path, accept), scrape(name, path, accept)]);
          assert.deepEqual([actual.status, actual.type], [expected.status, expected.type], `Accept: ${accept}`);
        }
        const [expected, actual] = await Promise.all([scrape(REFERENCE, path, '*/*'), scrape(name, path, '*/*')]);
        assert.match((await scrape(REFERENCE, path, PROTOBUF)).type ?? '', /^application\/vnd\.google\.protobuf;/);
        assert.equal((await scrape(name, path, PROTOBUF)).type, expected.type);
        const known = new Set(lintMetrics(expected.body));
        assert.deepEqual(
          lintMetrics(actual.body).filter((line) => !known.has(line)),
          [],
        );
        const [reference, own] = [metricNames(expected.body), metricNames(actual.body)];
        t.diagnostic(`without: ${[...reference.difference(own)].filter((each) => !OF_GO.test(each)).join(' ') || '-'}`);
        t.diagnostic(`beside: ${[...own.difference(reference)].join(' ') || '-'}`);
      });

  test('no sample of Nodelet is rejected', (t) => {
    const lines = prometheus
      .log()
      .split('\n')
      .filter((line) =>
        /out-of-order|Out of order|uplicate sample|out of bounds|different value|Append failed|append failed|commit failed/.test(
          line,
        ),
      );
    const ofReference = lines.filter((line) => line.includes(nodes.get(REFERENCE)?.address ?? '?'));
    t.diagnostic(`${ofReference.length} rejections of kubelet's samples`);
    assert.deepEqual(
      lines.filter((line) => !ofReference.includes(line)),
      [],
    );
  });

  test('no alert fires', async () => {
    assert.deepEqual(await prometheus.query('ALERTS'), []);
  });

  test('an alert fires when an agent has stopped', async () => {
    const [name = ''] = SUBJECTS;
    await nodes.get(name)?.stopAgent();
    const fired = await until(async () => presence(await prometheus.query('ALERTS{alertstate="firing"}')));
    assert.deepEqual(
      fired.map(({ labels }) => [labels['alertname'], labels['node']]),
      [['KubeletDown', name]],
    );
  });
});

function presence(series: readonly Series[]): readonly Series[] | undefined {
  return series.some(({ value }) => !Number.isNaN(value)) ? series : undefined;
}

function labelNames(series: readonly Series[]): readonly string[] {
  return [...new Set(series.flatMap(({ labels }) => Object.keys(labels)))].toSorted(byCodePoint);
}

function metricNames(exposition: string): Set<string> {
  return new Set([...exposition.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
}
