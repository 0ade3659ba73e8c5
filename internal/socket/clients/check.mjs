// Checks a server with real clients: each subscribes, counts what it sees,
// comes back after a cut, and gives up when it may not come in.
//
//   node check.mjs http://127.0.0.1:8080/graphql [./hand.mjs] [restarts]
//
// Between client and server stands a proxy that can cut. With "restarts", the
// line "restart" on standard output asks for the server to be stopped and
// started again on the same address, and a line on standard input says that it
// was.
import assert from 'node:assert/strict'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createWsClient } from 'graphql-ws'
import WebSocket from 'ws'
import { ask, clients } from './clients.mjs'
import { events, lines, proxy, reasonOf } from './tools.mjs'

const [url, schema = './hand.mjs', restarts] = process.argv.slice(2)
const hand = await import(schema)
const often = { attempts: 20, pause: 20 }

let number = 100 // the last that was published
let unseen = 0 // how many were since everything was marked as seen

async function publish () {
  number++
  unseen++
  await ask(url, hand.author, hand.publish(number))
}

async function seeAll () {
  if (hand.seen) await ask(url, hand.good, hand.seen)
  unseen = 0
}

const read = sink => ({ ...sink, next: data => sink.next(hand.read(data)) })

// now is the state that is right now.
const now = () => hand.seen ? { number: unseen === 0 ? 0 : number, count: unseen } : { number }

// shows waits until a client shows the state of now.
async function shows (sink) {
  const want = JSON.stringify(now())
  await sink.until(want, value => JSON.stringify(value) === want)
}

async function check (name) {
  await seeAll()
  const through = await proxy(url)
  const sink = events()
  const end = clients[name](through, hand.good, hand.subscription, read(sink), often)
  const first = await sink.take('the first state')
  assert.equal(typeof first.value?.number, 'number', reasonOf(first.error ?? {}))
  if (hand.seen) assert.deepEqual(first.value, now())
  for (let i = 0; i < 10; i++) {
    await publish()
    assert.deepEqual(await sink.take(`state ${number}`), { value: now() })
  }
  for (let i = 0; i < 3; i++) {
    through.cut()
    await publish()
    await shows(sink)
    await publish()
    await shows(sink)
  }
  await end()
  through.close()

  const shut = await proxy(url)
  const refused = events()
  const attempts = name === 'subscriptions-transport-ws' ? 0 : 2
  const stop = clients[name](shut, hand.bad, hand.subscription, read(refused), { attempts, pause: 20 })
  const { error, value } = await refused.take('the refusal')
  assert.ok(error, `a bad token saw ${JSON.stringify(value)}`)
  const text = reasonOf(error)
  if (name !== 'graphql-sse') assert.match(text, hand.badReason)
  assert.ok(shut.dials <= attempts + 1, `${shut.dials} dials with a bad token`)
  await stop()
  shut.close()
  console.log(`${name}: ok (a bad token was told "${text.slice(0, 60)}" after ${shut.dials} dials)`)
}

// A client whose token ends while it is connected comes back with a new one.
async function checkExpiry () {
  const through = await proxy(url)
  const sink = events()
  const closes = []
  let asked = 0
  const client = createWsClient({
    url: through.ws,
    webSocketImpl: WebSocket,
    connectionParams: () => asked++ === 0 ? hand.shortLived().init : hand.good.init,
    retryAttempts: 3,
    retryWait: () => new Promise(resolve => setTimeout(resolve, 20)),
    shouldRetry: () => true,
    on: { closed: event => closes.push(`${event.code} ${event.reason}`) }
  })
  client.subscribe({ query: hand.subscription }, {
    next: result => sink.next(hand.read(result.data)), error: sink.error, complete: () => {}
  })
  await sink.take('the first state')
  await sink.take('the state after the token has expired')
  assert.deepEqual(closes, ['4403 token expired'])
  await client.dispose()
  through.close()
  console.log('expiry: ok')
}

// The mode of graphql-sse that is not served is told in clear words.
async function checkSingleConnection () {
  const sink = events()
  const client = createSseClient({ url, singleConnection: true, headers: hand.good.headers, retryAttempts: 0 })
  client.subscribe({ query: hand.subscription }, { next: sink.next, error: sink.error, complete: () => {} })
  const { error } = await sink.take('the refusal')
  assert.equal(error.response?.status, 405)
  client.dispose()
  const answer = await fetch(url, { method: 'PUT', headers: hand.good.headers })
  assert.match(await answer.text(), /single connection mode/)
  console.log('single connection mode: ok')
}

// All clients come back to a server that was stopped and started, one of them
// at the pace that its authors gave it.
async function checkRestart () {
  await seeAll()
  const told = lines(process.stdin)
  const listening = []
  for (const name of Object.keys(clients)) {
    const sink = events()
    const retry = name === 'graphql-ws' ? { attempts: 5 } : { attempts: 200, pause: 50 }
    listening.push({ sink, end: clients[name](await proxy(url), hand.good, hand.subscription, read(sink), retry) })
  }
  await publish()
  for (const { sink } of listening) await shows(sink)
  for (let i = 0; i < 2; i++) {
    console.log('restart')
    await told.take('the restart')
    await publish()
    for (const { sink } of listening) await shows(sink)
    await publish()
    for (const { sink } of listening) await shows(sink)
  }
  for (const { end } of listening) await end()
  process.stdin.destroy()
  console.log('restarts: ok')
}

for (const name of Object.keys(clients)) await check(name)
for (const [what, other] of Object.entries(hand.others ?? {})) {
  for (const [name, subscribe] of Object.entries(clients)) {
    const through = await proxy(url)
    await other(subscribe, through)
    through.close()
    console.log(`${what} with ${name}: ok`)
  }
}
await checkExpiry()
await checkSingleConnection()
if (restarts) await checkRestart()
process.exit(0)
