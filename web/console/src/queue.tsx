// Fair queues: all at a glance, and one with its charts, its flows and its numbers.
import { useState } from "preact/hooks";
import { type Flow, type Flows, type Queue, queuePath, type TopFlows } from "./api.ts";
import { Chart, Spark } from "./chart.tsx";
import { queueGroups } from "./fields.ts";
import { SettingsForm } from "./form.tsx";
import { count, wait } from "./format.ts";
import { useHistory, useLive } from "./live.ts";
import { Bar, Figure, Note, Waiting } from "./parts.tsx";
import { queueLink } from "./router.ts";

const names = ["running", "waiting", "p50", "p90", "p99"] as const;

function QueueFigures({ queue }: { queue: Queue }) {
  return (
    <dl class="figures">
      <Figure label="Running" note={`of ${count(queue.concurrency)}`}>
        {count(queue.running)}
        <Bar part={queue.running} all={queue.concurrency} label={`${queue.running} of ${queue.concurrency} slots are taken`} />
      </Figure>
      <Figure label="Waiting">{count(queue.waiting)}</Figure>
      <Figure label="Wait, median">{wait(queue.waits.p50)}</Figure>
      <Figure label="90 %">{wait(queue.waits.p90)}</Figure>
      <Figure label="99 %">{wait(queue.waits.p99)}</Figure>
    </dl>
  );
}

function QueueCard({ queue }: { queue: Queue }) {
  const history = useHistory(`${queuePath(queue.name)}/history`, ["waiting"], 5000);
  return (
    <li class="panel">
      <h2><a href={queueLink(queue.name)}>{queue.name}</a></h2>
      <QueueFigures queue={queue} />
      <Spark history={history} name="waiting" label="Waiting" />
    </li>
  );
}

export function QueuesPage() {
  const { answer, error } = useLive<{ queues: Queue[] }>("queues");
  if (!answer) return <Waiting error={error} />;
  const { queues } = answer.data;
  return (
    <>
      <div class="head"><h1>Fair queues</h1></div>
      {error && <Note kind="bad">{error}</Note>}
      {queues.length === 0 && <p class="panel">There is no fair queue. One is made in nginx.conf, or by “fairway run --concurrency N”.</p>}
      <ul class="cards">
        {queues.map((queue) => (
          <QueueCard key={queue.name} queue={queue} />
        ))}
      </ul>
    </>
  );
}

function Charts({ queue }: { queue: Queue }) {
  const history = useHistory(`${queuePath(queue.name)}/history`, names);
  return (
    <div class="charts">
      <Chart title="Running" history={history} whole format={count} bound={queue.concurrency} lines={[{ name: "running", label: "Running", colour: 1 }]} />
      <Chart title="Waiting" history={history} whole format={count} lines={[{ name: "waiting", label: "Waiting", colour: 2 }]} />
      <Chart
        title="Waits"
        history={history}
        format={wait}
        lines={[{ name: "p50", label: "50 %", colour: 1 }, { name: "p90", label: "90 %", colour: 3 }, { name: "p99", label: "99 %", colour: 2 }]}
      />
    </div>
  );
}

function FlowTable({ flows, sessions }: { flows: readonly Flow[]; sessions: boolean }) {
  if (flows.length === 0) return <p>None for now.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Flows">
      <table>
        <thead>
          <tr><th>Network</th>{sessions && <th>Session</th>}<th>Debt</th><th>Cost</th><th>Running</th><th>Waiting</th><th>Known</th></tr>
        </thead>
        <tbody>
          {flows.map((flow) => (
            <tr key={`${flow.network} ${flow.session ?? ""}`}>
              <td>{flow.network}</td>
              {sessions && <td><code>{flow.session}</code></td>}
              <td>{wait(flow.debt)}</td>
              <td>{wait(flow.cost)}</td>
              <td>{count(flow.running)}</td>
              <td>{count(flow.waiting)}</td>
              <td>{flow.proven ? "yes" : "new"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TopFlowsPanel({ name }: { name: string }) {
  const { answer, error } = useLive<Flows>(`${queuePath(name)}/flows?top=20`, 2000);
  const [level, setLevel] = useState<keyof Flows>("outer");
  const [by, setBy] = useState<keyof TopFlows>("by_debt");
  const tab = (pressed: boolean, label: string, press: () => void) => <button type="button" aria-pressed={pressed} onClick={press}>{label}</button>;
  return (
    <section class="panel" aria-labelledby="flows-title">
      <h2 id="flows-title">Top flows</h2>
      <div class="tabs">
        {tab(level === "outer", "Networks", () => setLevel("outer"))}
        {tab(level === "inner", "Sessions", () => setLevel("inner"))}
        <span />
        {tab(by === "by_debt", "By debt", () => setBy("by_debt"))}
        {tab(by === "by_cost", "By cost", () => setBy("by_cost"))}
      </div>
      {answer ? <FlowTable flows={answer.data[level][by]} sessions={level === "inner"} /> : <Waiting error={error} />}
    </section>
  );
}

const totalWords: Record<string, string> = {
  direct: "Ran at once",
  queued: "Ran after a wait",
  full: "Refused, queue full",
  evicted: "Made room for another",
  timeout: "Waited too long",
  cancelled: "Client left",
  bypassed: "Bypassed",
};

function Totals({ queue }: { queue: Queue }) {
  return (
    <section class="panel" aria-labelledby="totals-title">
      <h2 id="totals-title">Requests since the start</h2>
      <dl class="list">
        {Object.entries(queue.totals).map(([status, n]) => <div key={status}><dt>{totalWords[status] ?? status}</dt><dd>{count(n)}</dd></div>)}
        <div><dt>Reported costs not understood</dt><dd>{count(queue.bad_costs)}</dd></div>
      </dl>
    </section>
  );
}

export function QueuePage({ name }: { name: string }) {
  const { answer, error, show } = useLive<Queue>(queuePath(name));
  if (!answer) return <Waiting error={error} />;
  const queue = answer.data;
  const most = queue.fixed;
  return (
    <>
      <div class="head"><h1>{queue.name}</h1></div>
      {error && <Note kind="bad">{error}</Note>}
      <QueueFigures queue={queue} />
      <Charts queue={queue} />
      <div class="columns">
        <section class="panel" aria-labelledby="settings-title">
          <h2 id="settings-title">Settings</h2>
          <SettingsForm path={queuePath(name)} answer={answer} groups={queueGroups} inFile onSaved={show} />
          <p class="quiet">
            Without a restart up to {count(Number(most["most_concurrency"]))} at once and {count(Number(most["most_size"]))} waiting; tables for {count(Number(most["outer_flows"]))} networks and{" "}
            {count(Number(most["inner_flows"]))} sessions.
          </p>
        </section>
        <div>
          <TopFlowsPanel name={name} />
          <Totals queue={queue} />
        </div>
      </div>
    </>
  );
}
