// Checks a server with real clients: each subscribes, counts what it sees,
// comes back after a cut, and gives up when it may not come in.
//
//   node check.mjs http://127.0.0.1:8080/graphql [./hand.mjs]
//
// Between client and server stands a proxy that can cut.
import assert from 'node:assert/strict'
import net from 'node:net'
import { ApolloClient, ApolloLink, InMemoryCache, gql } from '@apollo/client'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createWsClient } from 'graphql-ws'
import { SubscriptionClient } from 'subscriptions-transport-ws'
import WebSocket from 'ws'

const [url, schema = './hand.mjs'] = process.argv.slice(2)
const hand = await import(schema)
const patience = 20_000

// within fails when a promise takes too long.
function within (what, promise) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not in time`)), patience)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// Events that come one by one, to be waited for in order.
function events () {
  const pending = []
  let wake = () => {}
  const push = event => { pending.push(event); wake() }
  return {
    next: value => push({ value }),
    error: error => push({ error }),
    async take (what) {
      while (pending.length === 0) {
        await within(what, new Promise(resolve => { wake = resolve }))
      }
      return pending.shift()
    },
    // until takes events until one carries n.
    async until (n) {
      for (;;) {
        const { value, error } = await this.take(`number ${n}`)
        if (error) throw error
        if (value === n) return
      }
    }
  }
}

// proxy forwards to the server, counts connections, and can cut them all.
async function proxy () {
  const target = new URL(url)
  const open = new Set()
  const self = { dials: 0 }
  const server = net.createServer(near => {
    self.dials++
    const far = net.connect(Number(target.port), target.hostname)
    for (const [from, to] of [[near, far], [far, near]]) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => { open.delete(from); to.destroy() })
      from.pipe(to)
    }
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const at = new URL(url)
  at.port = String(server.address().port)
  self.http = at.href
  self.ws = at.href.replace(/^http/, 'ws')
  self.cut = () => { for (const socket of open) socket.destroy() }
  self.close = () => { self.cut(); server.close() }
  return self
}

async function publish (n) {
  const client = createWsClient({ url: url.replace(/^http/, 'ws'), webSocketImpl: WebSocket, connectionParams: hand.good.init })
  const result = await client.iterate({ query: hand.publish(n) }).next()
  assert.equal(result.value.errors, undefined)
  await client.dispose()
}

const quickly = () => new Promise(resolve => setTimeout(resolve, 20))

// Each client subscribes through a proxy with credentials, hands numbers and
// errors to a sink, and gives a function that ends it.
const clients = {
  'graphql-ws' (through, who, sink, retryAttempts) {
    const client = createWsClient({
      url: through.ws,
      webSocketImpl: WebSocket,
      connectionParams: who,
      retryAttempts,
      retryWait: quickly,
      shouldRetry: () => true
    })
    client.subscribe({ query: hand.subscription }, {
      next: result => sink.next(hand.numberOf(result.data)),
      error: sink.error,
      complete: () => {}
    })
    return () => client.dispose()
  },

  'graphql-sse' (through, who, sink, retryAttempts) {
    const client = createSseClient({ url: through.http, headers: who, retryAttempts, retry: quickly })
    client.subscribe({ query: hand.subscription }, {
      next: result => sink.next(hand.numberOf(result.data)),
      error: sink.error,
      complete: () => {}
    })
    return () => client.dispose()
  },

  '@apollo/client' (through, who, sink, retryAttempts) {
    const socket = createWsClient({
      url: through.ws,
      webSocketImpl: WebSocket,
      connectionParams: who,
      retryAttempts,
      retryWait: quickly,
      shouldRetry: () => true
    })
    const client = new ApolloClient({ link: ApolloLink.from([new GraphQLWsLink(socket)]), cache: new InMemoryCache() })
    const subscription = client.subscribe({ query: gql(hand.subscription) }).subscribe({
      next: result => result.error ? sink.error(result.error) : sink.next(hand.numberOf(result.data)),
      error: sink.error
    })
    return async () => {
      subscription.unsubscribe()
      client.stop()
      await socket.dispose()
    }
  },

  'subscriptions-transport-ws' (through, who, sink, retryAttempts) {
    const client = new SubscriptionClient(through.ws, {
      connectionParams: who,
      reconnect: retryAttempts > 0,
      reconnectionAttempts: retryAttempts,
      minTimeout: 2000,
      connectionCallback: error => { if (error) sink.error(error) }
    }, WebSocket)
    client.request({ query: hand.subscription }).subscribe({
      next: result => sink.next(hand.numberOf(result.data)),
      error: sink.error
    })
    return () => client.close()
  }
}

// The text that an error brings along, wherever a client keeps it.
function reasonOf (error) {
  const inner = error.cause ?? error
  return [error.reason, error.message, inner.reason, inner.message, error.networkError?.reason, String(error)].filter(Boolean).join(' | ')
}

let number = 100
async function check (name) {
  const credentials = who => name === 'graphql-sse' ? who.headers : who.init
  const through = await proxy()
  const sink = events()
  const end = clients[name](through, credentials(hand.good), sink, 20)
  const first = await sink.take('the first state')
  assert.equal(typeof first.value, 'number', reasonOf(first.error ?? {}))
  for (let i = 0; i < 10; i++) {
    await publish(++number)
    assert.deepEqual(await sink.take(`state ${number}`), { value: number })
  }
  for (let i = 0; i < 3; i++) {
    through.cut()
    await publish(++number)
    await sink.until(number)
    await publish(++number)
    await sink.until(number)
  }
  await end()
  through.close()

  const shut = await proxy()
  const refused = events()
  const attempts = name === 'subscriptions-transport-ws' ? 0 : 2
  const stop = clients[name](shut, credentials(hand.bad), refused, attempts)
  const { error, value } = await refused.take('the refusal')
  assert.ok(error, `a bad token saw ${value}`)
  const text = reasonOf(error)
  if (name !== 'graphql-sse') assert.match(text, hand.badReason)
  assert.ok(shut.dials <= attempts + 1, `${shut.dials} dials with a bad token`)
  await stop()
  shut.close()
  console.log(`${name}: ok (a bad token was told "${text.slice(0, 60)}" after ${shut.dials} dials)`)
}

// A client whose token ends while it is connected comes back with a new one.
async function checkExpiry () {
  const through = await proxy()
  const sink = events()
  const closes = []
  let asked = 0
  const client = createWsClient({
    url: through.ws,
    webSocketImpl: WebSocket,
    connectionParams: () => asked++ === 0 ? hand.shortLived.init : hand.good.init,
    retryAttempts: 3,
    retryWait: quickly,
    shouldRetry: () => true,
    on: { closed: event => closes.push(`${event.code} ${event.reason}`) }
  })
  client.subscribe({ query: hand.subscription }, {
    next: result => sink.next(hand.numberOf(result.data)), error: sink.error, complete: () => {}
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

for (const name of Object.keys(clients)) await check(name)
await checkExpiry()
await checkSingleConnection()
process.exit(0)
